"""Switches: replay, catch up, prove equal, serve; and the way back."""

from __future__ import annotations

import time
from dataclasses import dataclass

from batch.claim import claim
from core.catalog import Catalog
from core.identifiers import Name
from flows import replays
from flows.batch_cycle import BatchRun, batch_session, land_and_build, run_batch
from flows.serving_lineage import serving_change
from flows.switch_plan import refuse_changed, refuse_mixed
from infra import faults
from infra.control import comparisons, run_roles, runs
from infra.control.comparisons import Comparison
from infra.control.publications import Publication, last_done, last_number
from infra.settings import Settings
from serving import change_mode
from serving.compare import compare
from serving.publish import changed_since
from speed import replay_state
from speed.process import epoch_pacing, lifecycle


@dataclass(frozen=True)
class SwitchResult:
    """The result of a switch: the publication and the comparisons that proved it, if any were needed."""

    publication: Publication
    run: Name
    comparisons: tuple[Comparison, ...]
    seconds: float
    already: bool


def to_kappa(
    settings: Settings,
    catalog: Catalog,
    *,
    run: Name | None = None,
    rate: int | None = None,
    from_archive: bool = False,
    why: str = "lk switch kappa",
) -> SwitchResult:
    """Replays (or resumes a replay, or takes ``run``), waits, compares, serves; safe to repeat after a crash.

    A run is compared once. Raises Refused if it differed.
    """
    began = time.monotonic()
    serving = run if run and _serves(settings, catalog, run) else _kappa_run(settings, catalog)
    if serving and (run == serving or (run is None and replay_state.open_replay(settings, catalog) is None)):
        last = last_done(settings)
        assert last is not None
        # A crash may have followed the publication: the step is complete, and its lineage says so.
        serving_change(settings, catalog, "switch", serving, lambda: last, lambda served: served)
        return SwitchResult(last, serving, (), time.monotonic() - began, already=True)
    chosen = run or replays.start(settings, catalog, rate=rate, from_archive=from_archive).run
    assert chosen is not None
    if run is not None:
        lifecycle.start(settings, run)
    publication, proof = serving_change(
        settings,
        catalog,
        "switch",
        chosen,
        lambda: _prove_and_serve(settings, catalog, chosen, why),
        lambda served: served[0],
    )
    return SwitchResult(publication, chosen, proof, time.monotonic() - began, already=False)


def _prove_and_serve(
    settings: Settings, catalog: Catalog, run: Name, why: str
) -> tuple[Publication, tuple[Comparison, ...]]:
    """Serves a replay once it has caught up and was compared; returns the publication and the comparisons."""
    replays.wait(settings, run)
    if not change_mode.is_compared(settings, catalog, run):
        prove_equal(settings, catalog, run)
    proof = comparisons.latest_by_view(settings, run)
    faults.at("replay.3_before_switch")
    epoch_pacing.set_rate_limit(settings, run, None)
    lifecycle.start(settings, run)  # it may have died since, and must run to be served
    return change_mode.to_kappa(settings, catalog, run, why=why), tuple(proof.values())


def to_lambda(settings: Settings, catalog: Catalog, *, why: str = "lk switch lambda") -> BatchRun:
    """Builds at a cut of the run that serves, and serves the build with the run's partial rows after it.

    Raises Refused if that run has other definitions than there are now, or computes only some of the views.
    """
    refuse_changed(settings, catalog)
    refuse_mixed(settings, catalog)
    subject = f"lambda after publication {last_number(settings)}"

    def batch() -> BatchRun:
        return run_batch(settings, catalog, why=why, to_lambda=True)

    return serving_change(settings, catalog, "switch", subject, batch, lambda result: result.publication)


def rollback(
    settings: Settings, catalog: Catalog, *, why: str = "lk rollback", leaving: int | None = None
) -> Publication:
    """Serves what was served before publication ``leaving`` (default: the last one), then starts its runs."""
    subject = f"publication {leaving or last_number(settings)}"

    def go_back() -> Publication:
        return change_mode.rollback(settings, catalog, why=why, leaving=leaving)

    publication = serving_change(settings, catalog, "rollback", subject, go_back, lambda published: published)
    for run in sorted(run_roles.serving_runs(settings)):
        lifecycle.start(settings, run)
    return publication


def prove_equal(settings: Settings, catalog: Catalog, run: Name) -> list[Comparison]:
    """Builds a run's views in full at the end of one of its epochs, gates the build, and compares the run with it."""
    claimed = claim(settings, catalog, run)
    faults.at("replay.2_before_compare")
    with batch_session(settings, claimed.cut) as spark:
        land_and_build(spark, settings, catalog, claimed)
        return compare(spark, settings, catalog, claimed)


def _kappa_run(settings: Settings, catalog: Catalog) -> Name | None:
    """The run that serves, alone, every view that can be switched, with today's definitions; None if there is none."""
    last = last_done(settings)
    pins = {view: pin for view, pin in last.pins.items() if view in catalog.reproducible} if last else {}
    serving = {pin.run for pin in pins.values()}
    same = set(catalog.reproducible) <= pins.keys() and not changed_since(last, catalog)
    return serving.pop() if same and all(pin.mode == "kappa" for pin in pins.values()) and len(serving) == 1 else None


def _serves(settings: Settings, catalog: Catalog, run: Name) -> bool:
    """Whether a run serves, alone, every view that it could be switched for."""
    last, views = last_done(settings), change_mode.switchable_views(catalog, runs.read_run(settings, run))
    pins = last.pins if last else {}
    return bool(views) and all(v in pins and (pins[v].mode, pins[v].run) == ("kappa", run) for v in views)
