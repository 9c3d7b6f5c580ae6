"""`lk switch kappa --plan` and `lk switch lambda --plan`: what a switch would do. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from core.validation.definition_change import definition_refusal
from infra.control import run_roles, runs
from infra.control.builds import PassedBuild, passed_builds
from infra.control.manifest import committed_size
from infra.control.publications import last_done
from infra.control.runs import Run
from infra.lake import delta, files, table_paths
from infra.settings import Settings
from serving.publish import changed_since, in_kappa, kappa_views
from speed import replay_state
from speed.replay_state import PartitionLog

_READERS = "the old answer of a view until its SQL is replaced, then the new one; never an error, never a mix; "


@dataclass(frozen=True)
class KappaPlan:
    """What `lk switch kappa` would do. Seconds and bytes are estimated from earlier runs here; None without any.

    ``run`` is the replay to resume, None if a new one would start. ``unswitched`` is view -> reason.
    """

    mode: str
    logs: tuple[PartitionLog, ...]
    records: int
    run: Name | None
    measured: tuple[Name, float] | None
    seconds: float | None
    bytes: int | None
    compared: tuple[Name, ...]
    unswitched: dict[Name, str]
    readers: str


@dataclass(frozen=True)
class LambdaPlan:
    """What `lk switch lambda` would do. Seconds and bytes are scaled from the last full build; None without one.

    ``run`` serves what follows the build's cut; None if the build serves alone.
    """

    mode: str
    logs: tuple[PartitionLog, ...]
    records: int
    to_land: int
    run: Name | None
    measured: Name | None
    seconds: float | None
    bytes: int | None
    built: tuple[Name, ...]
    unswitched: dict[Name, str]
    readers: str


def plan_kappa(
    settings: Settings, catalog: Catalog, run: Name | None = None, *, from_archive: bool = False
) -> KappaPlan:
    """The plan of a switch to Kappa. Raises Refused if the switch would be refused."""
    logs = replay_state.partition_logs(settings, catalog)
    replay_state.prefix_from_archive(logs, from_archive=from_archive)
    replay = runs.read_run(settings, run) if run else replay_state.open_replay(settings, catalog)
    records = sum(log.end for log in logs if replay is None or log.topic in replay.topics)
    measured = replay_state.last_measured_rate(settings)
    committed = committed_size(settings, replay.id) if replay else 0
    serving = run_roles.current_run(settings)
    return KappaPlan(
        mode=mode(settings),
        logs=logs,
        records=records,
        run=replay.id if replay else None,
        measured=measured,
        seconds=max(0, records - committed) / measured[1] if measured else None,
        bytes=files.size(table_paths.run(settings, serving)) if serving else None,
        compared=tuple(view for view in catalog.reproducible if replay is None or view in replay.views),
        unswitched=_unswitched(settings, catalog, replay),
        readers=_READERS + "while a replay without --rate catches up, and during the proof, "
        f"answers are up to {settings.yield_seconds:g} s older",
    )


def plan_lambda(settings: Settings, catalog: Catalog) -> LambdaPlan:
    """The plan of a switch to Lambda. Raises Refused if the switch would be refused."""
    refuse_changed(settings, catalog)
    refuse_mixed(settings, catalog)
    logs = replay_state.partition_logs(settings, catalog)
    records = sum(log.end for log in logs)
    last = _last_build(settings)
    scale = records / max(1, last[0].cut.size) if last else 0.0
    paths = [table_paths.batch(settings, built.view, built.build) for built in last]
    return LambdaPlan(
        mode=mode(settings),
        logs=logs,
        records=records,
        to_land=sum(max(0, log.end - log.archived) for log in logs),
        run=run_roles.current_run(settings),
        measured=last[0].build if last else None,
        seconds=scale * sum(built.seconds for built in last) if last else None,
        bytes=int(scale * sum(map(files.size, paths))) if last else None,
        built=catalog.reproducible,
        unswitched=_unswitched(settings, catalog, None),
        readers=_READERS + f"during the build answers are up to {settings.yield_seconds:g} s older",
    )


def refuse_changed(settings: Settings, catalog: Catalog) -> None:
    """Raises Refused if the run that serves has other definitions than there are now."""
    changed = changed_since(last_done(settings), catalog)
    if changed:
        raise definition_refusal(
            changed, "the run that serves was declared", where=f"run {run_roles.current_run(settings)}"
        )


def refuse_mixed(settings: Settings, catalog: Catalog) -> None:
    """Raises Refused if some views are in Kappa and some are not: one run could not serve both."""
    last = last_done(settings)
    in_kappa_now = kappa_views(last)
    if last and in_kappa_now and not in_kappa(last, catalog):
        raise Refused(
            f"only some views are in Kappa: {', '.join(in_kappa_now)}",
            where=f"publication {last.seq}",
            fix="go back with `lk rollback`, or serve all views from a new run: `lk speed start --new`",
        )


def mode(settings: Settings) -> str:
    """What serves: lambda, kappa, batch, speed, or nothing; "mixed: ..." if views differ."""
    last = last_done(settings)
    modes = sorted({pin.mode for pin in last.pins.values()}) if last else []
    return modes[0] if len(modes) == 1 else ("mixed: " + ", ".join(modes) if modes else "nothing")


def _last_build(settings: Settings) -> list[PassedBuild]:
    """Every view of the last full build whose tables still exist."""
    existing = [
        built
        for built in passed_builds(settings)
        if built.how == "full" and delta.exists(table_paths.batch(settings, built.view, built.build))
    ]
    return [built for built in existing if built.build == existing[-1].build]


def _unswitched(settings: Settings, catalog: Catalog, run: Run | None) -> dict[Name, str]:
    last = last_done(settings)
    served = last.pins if last else {}
    removed = {view: "its definition was removed" for view in served if view not in catalog.views}
    reason = "it counts by processing time, which a replay cannot repeat"
    not_computed = {v: f"run {run.id} does not compute it" for v in catalog.views if v not in run.views} if run else {}
    return removed | not_computed | {view: reason for view in catalog.views if view not in catalog.reproducible}
