"""Replays as verbs: start, run, wait, throttle, abandon; and the plan of a switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra import faults
from infra.control import run_roles, runs
from infra.control.run_endings import RunEnding
from infra.control.runs import Run
from infra.progress_bar import bar
from infra.retry import wait_until
from infra.settings import Settings
from serving import retire
from speed import job, replay_state
from speed.process import lifecycle, throttle
from speed.process.lifecycle import RunState
from speed.replay_state import ReplayProgress


def start(
    settings: Settings,
    catalog: Catalog,
    *,
    run: Name | None = None,
    rate: int | None = None,
    from_archive: bool = False,
    views: Sequence[Name] | None = None,
) -> RunState:
    """Starts a replay in the background, or goes on with the one that was begun; returns once it runs.

    It computes every view, or only some ``views``.
    """
    of = catalog if views is None else _only(catalog, views)
    begun = declared(settings, of, run=run, rate=rate, from_archive=from_archive)
    faults.reach("replay.5_before_start")
    return lifecycle.start(settings, begun.id)


def declared(
    settings: Settings,
    catalog: Catalog,
    *,
    run: Name | None = None,
    rate: int | None = None,
    from_archive: bool = False,
) -> Run:
    """The replay that was begun, else a new one, named ``run`` if that is given; ``rate`` limits it from its start."""
    begun = replay_state.open_replay(settings, catalog)
    if begun is not None and run not in (None, begun.id):
        raise Refused(
            f"replay {begun.id} is not finished",
            where=f"run {begun.id}",
            fix=f"`lk replay wait --run {begun.id}`, or `lk replay abandon --run {begun.id}`",
        )
    chosen = begun or replay_state.declare(settings, catalog, id=run, from_archive=from_archive)
    if rate is not None:
        throttle.set_limit(settings, chosen.id, rate)
    return chosen


def _only(catalog: Catalog, views: Sequence[Name]) -> Catalog:
    never = [view for view in views if not catalog.view(view).reproducible]
    if never:
        raise Refused(
            f"no replay gives {', '.join(never)}: it counts by processing time",
            where="--views",
            fix="leave it out; it stays with its run",
        )
    return catalog.only(views)


def drive(
    settings: Settings, catalog: Catalog, *, run: Name | None = None, from_archive: bool = False
) -> ReplayProgress:
    """Runs a replay in the foreground until SIGTERM, for clusters; returns how far it is then."""
    replay = declared(settings, catalog, run=run, from_archive=from_archive).id
    job.run_forever(settings, catalog, replay)
    return status(settings, replay)


def status(settings: Settings, run: Name | None = None) -> ReplayProgress:
    """How far a replay is."""
    return replay_state.progress(settings, runs.read_run(settings, chosen(settings, run)))


def limit(settings: Settings, rate: int | None, run: Name | None = None) -> ReplayProgress:
    """Changes how fast a replay may read, while it runs; None takes the limit away."""
    which = chosen(settings, run)
    throttle.set_limit(settings, which, rate)
    return status(settings, which)


def wait(settings: Settings, run: Name | None = None, *, patience: float | None = None) -> ReplayProgress:
    """Waits until a replay has caught up, with a progress bar. Raises why it cannot, TryAgain after ``patience`` s."""
    which = chosen(settings, run)
    declared_run = runs.read_run(settings, which)
    first = replay_state.progress(settings, declared_run)
    with bar(f"replaying {which}", first.total, "records") as done:
        return _until_caught_up(settings, declared_run, done, patience)


def abandon(settings: Settings, run: Name | None = None, *, why: str = "lk replay abandon") -> RunEnding:
    """Stops a replay that never served and frees what it held."""
    which = chosen(settings, run)
    role = run_roles.roles(settings).get(which)
    if role not in ("replay", "abandoned"):
        raise Refused(f"run {which} is no replay: it is {role}", where=f"run {which}", fix=f"`lk retire {which}`")
    if role == "replay":
        lifecycle.stop(settings, which)
    return retire.end(settings, which, "abandoned", why=why)


def chosen(settings: Settings, run: Name | None) -> Name:
    """The run that is named, else the replay that is not finished. Raises Refused when there is none."""
    if run is not None:
        return runs.read_run(settings, run).id
    fit = [name for name, role in run_roles.roles(settings).items() if role == "replay"]
    if not fit:
        raise Refused("there is no replay that is not finished", where="control.runs", fix="`lk replay start`")
    return fit[-1]


def _until_caught_up(
    settings: Settings, run: Run, done: Callable[[float], None], patience: float | None
) -> ReplayProgress:
    def look() -> ReplayProgress | None:
        seen = replay_state.progress(settings, run)
        done(seen.done)
        if not seen.state.alive and not seen.caught_up:
            raise Refused(
                f"replay {run.id} {seen.state.phase}: {seen.state.reason or 'no process drives it'}",
                where=str(seen.state.log),
                fix=f"read the log; `lk replay start`, or the verb that waited, goes on after epoch {seen.state.epoch}",
            )
        return seen if seen.caught_up else None

    progress = wait_until(look, patience, every=1.0, error=lambda: _late(run, patience))
    assert progress is not None
    return progress


def _late(run: Run, patience: float | None) -> TryAgain:
    return TryAgain(
        f"replay {run.id} has not caught up within {patience:.0f} s",
        where=f"run {run.id}",
        fix=f"`lk replay status --run {run.id}`, then wait again",
    )
