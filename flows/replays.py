"""What the verbs of a replay do: start, run, status, wait, throttle, abandon."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.identifiers import Name
from flows import lineage_steps
from infra import faults
from infra.control import run_roles, runs
from infra.control.run_endings import RunEnding
from infra.control.runs import Run
from infra.progress_bar import bar
from infra.retry import wait_until
from infra.settings import Settings
from serving.retire import end_run
from speed import job, replay_state
from speed.process import background, epoch_pacing, lifecycle
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
    """Starts a replay in the background, or resumes the one in progress; returns once it runs.

    It computes every view, or only ``views``.
    """
    computed = catalog if views is None else _only(catalog, views)
    replay = open_or_declare(settings, computed, run=run, rate=rate, from_archive=from_archive)
    lineage_steps.replay_started(settings, computed, replay)
    faults.at("replay.0_before_start")
    return lifecycle.start(settings, replay.id)


def open_or_declare(
    settings: Settings,
    catalog: Catalog,
    *,
    run: Name | None = None,
    rate: int | None = None,
    from_archive: bool = False,
) -> Run:
    """The replay in progress, or a new one with the id ``run``. ``rate`` limits it, in records per second.

    Raises Refused if another replay than ``run`` is in progress.
    """
    open_replay = replay_state.open_replay(settings, catalog)
    if open_replay is not None and run not in (None, open_replay.id):
        raise Refused(
            f"replay {open_replay.id} is in progress",
            where=f"run {open_replay.id}",
            fix=f"`lk replay wait --run {open_replay.id}`, or `lk replay abandon --run {open_replay.id}`",
        )
    replay = open_replay or replay_state.declare(settings, catalog, id=run, from_archive=from_archive)
    if rate is not None:
        epoch_pacing.set_rate_limit(settings, replay.id, rate)
    return replay


def _only(catalog: Catalog, views: Sequence[Name]) -> Catalog:
    not_reproducible = [view for view in views if not catalog.view(view).reproducible]
    if not_reproducible:
        raise Refused(
            f"a replay cannot compute {', '.join(not_reproducible)} again: it counts by processing time",
            where="--views",
            fix="leave it out; its run continues to serve it",
        )
    return catalog.only(views)


def run_replay(
    settings: Settings, catalog: Catalog, *, run: Name | None = None, from_archive: bool = False
) -> ReplayProgress:
    """Runs a replay in the foreground until SIGTERM, for clusters; returns how far it is then."""
    replay = open_or_declare(settings, catalog, run=run, from_archive=from_archive)
    lineage_steps.replay_started(settings, catalog, replay)
    job.run_forever(settings, catalog, replay.id)
    return status(settings, replay.id)


def status(settings: Settings, run: Name | None = None) -> ReplayProgress:
    """How far a replay is."""
    return replay_state.progress(settings, runs.read_run(settings, chosen_run(settings, run)))


def set_rate(settings: Settings, rate: int | None, run: Name | None = None) -> ReplayProgress:
    """Limits a replay to ``rate`` records per second while it runs; None removes the limit."""
    replay = chosen_run(settings, run)
    epoch_pacing.set_rate_limit(settings, replay, rate)
    return status(settings, replay)


def wait(settings: Settings, run: Name | None = None, *, patience: float | None = None) -> ReplayProgress:
    """Waits until a replay has caught up, with a progress bar.

    Raises Refused if its process ended, TryAgain after ``patience`` seconds.
    """
    declared_run = runs.read_run(settings, chosen_run(settings, run))
    first = replay_state.progress(settings, declared_run)
    with bar(f"replaying {declared_run.id}", first.total, "records") as show:
        return lineage_steps.replay_caught_up(
            settings, declared_run, lambda: _until_caught_up(settings, declared_run, show, patience)
        )


def abandon(settings: Settings, run: Name | None = None, *, why: str = "lk replay abandon") -> RunEnding:
    """Stops a replay that never served, and deletes its tables and its checkpoint."""
    replay = chosen_run(settings, run)
    role = run_roles.roles(settings).get(replay)
    if role not in ("replay", "abandoned"):
        raise Refused(
            f"run {replay} is {role}, not a replay in progress", where=f"run {replay}", fix=f"`lk retire {replay}`"
        )
    if role == "replay":
        background.stop(settings, replay)
    lineage_steps.replay_abandoned(settings, runs.read_run(settings, replay))
    return end_run(settings, replay, "abandoned", why=why)


def chosen_run(settings: Settings, run: Name | None) -> Name:
    """``run``, or the replay in progress. Raises Refused if there is none."""
    if run is not None:
        return runs.read_run(settings, run).id
    replay = run_roles.replay_in_progress(settings)
    if replay is None:
        raise Refused("no replay is in progress", where="control.runs", fix="`lk replay start`")
    return replay


def _until_caught_up(
    settings: Settings, run: Run, show: Callable[[float], None], patience: float | None
) -> ReplayProgress:
    def caught_up() -> ReplayProgress | None:
        progress = replay_state.progress(settings, run)
        show(progress.read)
        state = progress.state
        if not state.alive and not progress.caught_up:
            raise Refused(
                f"replay {run.id} {state.phase}: {state.reason or 'it has no process'}",
                where=str(state.log),
                fix=f"read this log file; `lk replay start`, or the waiting verb, resumes it after epoch {state.epoch}",
            )
        return progress if progress.caught_up else None

    progress = wait_until(caught_up, patience, every=1.0, error=lambda: _timed_out(run, patience))
    assert progress is not None
    return progress


def _timed_out(run: Run, patience: float | None) -> TryAgain:
    return TryAgain(
        f"replay {run.id} did not catch up within {patience:.0f} s",
        where=f"run {run.id}",
        fix=f"see `lk replay status --run {run.id}`, then wait again",
    )
