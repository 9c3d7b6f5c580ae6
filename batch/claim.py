"""Claims a cut: where the log is divided between the next build and the partials that add to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra import faults
from infra.control import locks, run_roles, runs
from infra.control.builds import build_name, build_number
from infra.control.claims import Claim, add_claim, read_claims
from infra.control.epochs import last_epoch
from infra.control.publications import read_publications
from infra.kafka import kafka_admin, log_checks
from infra.lake import table_paths
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.trino import served_views


@dataclass(frozen=True)
class _Pair:
    run: Name | None
    epoch: int
    cut: Cut


def claim(settings: Settings, catalog: Catalog, run: Name | None = None) -> Claim:
    """Claims the end of the newest epoch of ``run`` (else of the run serving now, else of the last one).

    Of ``run`` only the views are claimed that it computes. Without any run, the end of the log is claimed. The same
    cut, run and definitions give the claim that there is. The claim is written before landing starts, so that no fold
    crosses it. Raises TryAgain when one just did.
    """
    table_paths.open_lake(settings)
    with locks.hold(settings, "control") as lease:
        wanted = _wanted(settings, catalog, run)
        known = next((c for c in read_claims(settings) if _same(c, wanted)), None)
        if known is None:
            _add(settings, lease, wanted)
    return known or wanted


def claim_new_build(settings: Settings, catalog: Catalog, run: Name) -> Claim:
    """Claims the same, always for a build of its own: one that is to check another must not be that other."""
    with locks.hold(settings, "control") as lease:
        wanted = _wanted(settings, catalog, run)
        _add(settings, lease, wanted)
    return wanted


def _wanted(settings: Settings, catalog: Catalog, run: Name | None) -> Claim:
    faults.reach("batch.0_before_claim")
    pair = _pair(settings, catalog, run or _partner(settings, catalog))
    views = [view for view in catalog.reproducible if run is None or view in runs.read_run(settings, run).views]
    return _claim(settings, catalog, pair, views)


def _add(settings: Settings, lease: Lease, wanted: Claim) -> None:
    _refuse_going_back(settings, wanted)
    add_claim(settings, lease, wanted)
    faults.reach("batch.0_after_claim")
    _check_fold(settings, lease, wanted)


def _partner(settings: Settings, catalog: Catalog) -> Name | None:
    """The run serving now, else the last live one that computes any of the views."""
    declared = [run.id for run in runs.read_runs(settings) if run.views.keys() & catalog.views.keys()]
    its = run_roles.roles(settings)
    found = _served(settings, catalog)
    added = {one.run for one in found if not one.is_kappa}
    # A run that serves alone needs no build, as long as another one adds to one.
    wanted = added & set(declared) or {one.run for one in found}
    live = [run for run in declared if its[run] in ("serving", "warm", "idle")]
    fit = [run for run in declared if run in wanted] or live
    return fit[-1] if fit else None


def _served(settings: Settings, catalog: Catalog) -> list[served_views.Served]:
    try:
        return list(served_views.read_served(settings, catalog.reproducible).values())
    except TryAgain:
        done = [p for p in read_publications(settings) if p.state == "done"]
        pins = done[-1].pins.values() if done else []
        return [served_views.Served(pin.build, pin.run, pin.epoch, "", "") for pin in pins]


def _pair(settings: Settings, catalog: Catalog, run: Name | None) -> _Pair:
    """A cut and the epoch that ends there; topics that the run does not read are cut where the log ends."""
    if run is None:
        return _Pair(None, -1, kafka_admin.end_offsets(settings, _topics(settings, catalog)))
    declared = runs.read_run(settings, run)
    log_checks.require_same_topics(settings, declared.topics, where=f"run {run}", fix=log_checks.USE_NEW_LOG)
    last = last_epoch(settings, run)
    cut, epoch = (last.end, last.number) if last else (declared.start, -1)
    others = [topic for topic in _topics(settings, catalog) if topic not in declared.topics]
    beside = kafka_admin.end_offsets(settings, others) if others else Cut()
    return _Pair(run, epoch, Cut(tuple(sorted(cut.only(declared.topics).ends + beside.ends))))


def _topics(settings: Settings, catalog: Catalog) -> list[Name]:
    """Topics of the catalog that exist: one that nobody has written to yet is empty."""
    there = kafka_admin.partition_counts(settings)
    return [topic for topic in catalog.topics if topic in there]


def _claim(settings: Settings, catalog: Catalog, pair: _Pair, views: Sequence[Name]) -> Claim:
    newest = max((build_number(c.build) for c in read_claims(settings)), default=0)
    return Claim(
        build=build_name(newest + 1),
        run=pair.run,
        epoch=pair.epoch,
        cut=pair.cut,
        at=datetime.now(UTC),
        who=current_user(),
        views={name: catalog.digest(name) for name in views},
        decoders={name: catalog.decoder(name) for name in catalog.topics},
    )


def _same(known: Claim, wanted: Claim) -> bool:
    made = replace(known, build=wanted.build, epoch=wanted.epoch, at=wanted.at, who=wanted.who)
    return made == wanted  # epochs without records end at the same cut


def _refuse_going_back(settings: Settings, wanted: Claim) -> None:
    """A run that is behind what was claimed for it cannot be: its manifest only grows."""
    for known in read_claims(settings):
        before = known.cut.only(wanted.decoders)
        if known.run == wanted.run and wanted.cut != before and wanted.cut <= before:
            raise Refused(
                f"the newest epoch ends before the cut of {known.build}",
                where=f"{wanted.run or 'the log'}: {wanted.cut}, claimed before: {known.cut}",
                fix="look at `lk speed status`; if the log was emptied, use `lk rebuild`",
            )


def _check_fold(settings: Settings, lease: Lease, done: Claim) -> None:
    """A fold that read the claims before this one was written may have crossed it, if the run is far ahead by now."""
    lease.check()
    last = last_epoch(settings, done.run) if done.run else None
    if last and last.number - done.epoch >= settings.fold_behind:
        raise TryAgain(
            f"the run went on by {last.number - done.epoch} epochs while the cut was claimed",
            where=f"run {done.run}, claim {done.build} at epoch {done.epoch}",
            fix="run the command again",
        )
