"""Claims a cut: the end offsets of the next build, after which a run's partial rows add to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra import faults
from infra.control import locks, log_history, run_roles, runs
from infra.control.claims import Claim, add_claim, claims_at, last_cuts, next_build
from infra.control.manifest import ARCHIVE_EPOCH, last_epoch
from infra.control.publications import last_done
from infra.kafka import kafka_admin, log_checks
from infra.lake import table_paths
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.trino import served_views


@dataclass(frozen=True)
class _EpochEnd:
    run: Name | None
    epoch: int
    cut: Cut


def claim(settings: Settings, catalog: Catalog, run: Name | None = None) -> Claim:
    """Claims the end of the last epoch of ``run``; by default of the run that serves, or of the last one.

    With ``run``, claims only the views that it computes. Without any run, claims the end of the log. Returns the
    existing claim for the same cut, run and definitions. The claim is written before landing starts, so that no fold
    crosses it. Raises TryAgain when a fold may have crossed it meanwhile.
    """
    table_paths.open_lake(settings)
    with locks.hold(settings, "control") as lease:
        new = _next_claim(settings, catalog, run)
        existing = next((c for c in claims_at(settings, new.cut) if _same(c, new)), None)
        if existing is None:
            _add(settings, lease, new)
    return existing or new


def claim_new_build(settings: Settings, catalog: Catalog, run: Name) -> Claim:
    """Adds a claim even if the same cut is claimed already: a build that verifies another must be a new one."""
    with locks.hold(settings, "control") as lease:
        new = _next_claim(settings, catalog, run)
        _add(settings, lease, new)
    return new


def claim_log_end(settings: Settings, catalog: Catalog) -> Claim:
    """Claims the end of the log, whatever run serves: for a run whose manifest cannot be read."""
    with locks.hold(settings, "control") as lease:
        epoch_end = _last_epoch_end(settings, catalog, None)
        new = _claim(settings, catalog, epoch_end, list(catalog.reproducible))
        _add(settings, lease, new)
    return new


def _next_claim(settings: Settings, catalog: Catalog, run: Name | None) -> Claim:
    faults.at("batch.0_before_claim")
    epoch_end = _last_epoch_end(settings, catalog, run or _run_to_claim(settings, catalog))
    views = [view for view in catalog.reproducible if run is None or view in runs.read_run(settings, run).views]
    return _claim(settings, catalog, epoch_end, views)


def _add(settings: Settings, lease: Lease, new: Claim) -> None:
    _require_later_cut(settings, new)
    add_claim(settings, lease, new)
    faults.at("batch.0_after_claim")
    _require_no_fold(settings, lease, new)


def _run_to_claim(settings: Settings, catalog: Catalog) -> Name | None:
    """The run serving now, else the last live one that computes any of the views."""
    declared = [run.id for run in runs.read_runs(settings) if run.views.keys() & catalog.views.keys()]
    roles = run_roles.roles(settings)
    served = _served(settings, catalog)
    adding = {served_view.run for served_view in served if not served_view.is_kappa}
    # A run that serves alone needs no build, as long as another one adds to one.
    preferred = adding & set(declared) or {served_view.run for served_view in served}
    live = [run for run in declared if roles[run] in ("serving", "warm", "idle")]
    candidates = [run for run in declared if run in preferred] or live
    return candidates[-1] if candidates else None


def _served(settings: Settings, catalog: Catalog) -> list[served_views.Served]:
    try:
        return list(served_views.read_served(settings, catalog.reproducible).values())
    except TryAgain:
        last = last_done(settings)
        pins = last.pins.values() if last else []
        return [served_views.Served(pin.build, pin.run, pin.epoch, "", "") for pin in pins]


def _last_epoch_end(settings: Settings, catalog: Catalog, run: Name | None) -> _EpochEnd:
    """A cut and the epoch that ends there; topics that the run does not read are cut at the end of the log."""
    if run is None:
        return _EpochEnd(None, ARCHIVE_EPOCH, kafka_admin.end_offsets(settings, _topics(settings, catalog)))
    declared = runs.read_run(settings, run)
    log_checks.require_same_topics(settings, declared.topics, where=f"run {run}", fix=log_checks.RESTORE_LOG)
    log_history.require_log_of_run(settings, run, fix=log_checks.RESTORE_LOG)
    last = last_epoch(settings, run)
    cut, epoch = (last.end, last.number) if last else (declared.start, ARCHIVE_EPOCH)
    others = [topic for topic in _topics(settings, catalog) if topic not in declared.topics]
    other_ends = kafka_admin.end_offsets(settings, others) if others else Cut()
    return _EpochEnd(run, epoch, Cut(tuple(sorted(cut.only(declared.topics).ends + other_ends.ends))))


def _topics(settings: Settings, catalog: Catalog) -> list[Name]:
    """Topics of the catalog that exist in Kafka."""
    existing = kafka_admin.partition_counts(settings)
    return [topic for topic in catalog.topics if topic in existing]


def _claim(settings: Settings, catalog: Catalog, epoch_end: _EpochEnd, views: Sequence[Name]) -> Claim:
    return Claim(
        build=next_build(settings),
        run=epoch_end.run,
        epoch=epoch_end.epoch,
        cut=epoch_end.cut,
        at=datetime.now(UTC),
        who=current_user(),
        views={name: catalog.digest(name) for name in views},
        decoders={name: catalog.decoder(name) for name in catalog.topics},
    )


def _same(existing: Claim, new: Claim) -> bool:
    renamed = replace(existing, build=new.build, epoch=new.epoch, at=new.at, who=new.who)
    return renamed == new  # epochs without records end at the same cut


def _require_later_cut(settings: Settings, new: Claim) -> None:
    """Raises Refused when a run's last epoch ends before one of the last claimed cuts: a manifest only grows."""
    for build, cut in last_cuts(settings, new.run).items():
        before = cut.only(new.decoders)
        if new.cut != before and new.cut <= before:
            raise Refused(
                f"the last epoch ends before the cut of {build}",
                where=f"{new.run or 'the log'}: {new.cut}, claimed before: {cut}",
                fix="look at `lk speed status`; if the log was deleted, use `lk restore`",
            )


def _require_no_fold(settings: Settings, lease: Lease, claim: Claim) -> None:
    """Raises TryAgain when the run is so far ahead that a fold which did not see this claim may have crossed it."""
    lease.check()
    last = last_epoch(settings, claim.run) if claim.run else None
    if last and last.number - claim.epoch >= settings.fold_behind:
        raise TryAgain(
            f"the run committed {last.number - claim.epoch} more epochs while the cut was claimed",
            where=f"run {claim.run}, claim {claim.build} at epoch {claim.epoch}",
            fix="run the command again",
        )
