"""Reads the runs that have not ended; one with a damaged manifest hides no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.errors import Refused
from core.identifiers import Name
from flows.live_page.snapshot import LiveRun
from infra.control import run_roles, runs
from infra.control.manifest import last_epoch
from infra.control.runs import Run
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings
from speed import replay_state
from speed.process import background, lifecycle
from speed.process.lifecycle import RunState

MOST_RUNS = 12  # the newest that neither serve nor have ended; those that serve are all read


def live_runs(settings: Settings) -> tuple[LiveRun, ...]:
    """Every run that serves and the newest others that have not ended, oldest first."""
    roles = run_roles.roles(settings)
    read = runs_to_read(roles)
    declared = [run for run in runs.read_runs(settings) if run.id in read]
    states = _states(settings, declared)
    return tuple(_live_run(settings, run, roles[run.id], states[run.id]) for run in declared)


def runs_to_read(roles: Mapping[Name, run_roles.Role]) -> frozenset[Name]:
    """Every run that serves, and the newest ``MOST_RUNS`` of those that neither serve nor have ended."""
    serving = [run for run, role in roles.items() if role == "serving"]
    others = [run for run, role in roles.items() if role in ("warm", "replay", "idle")]
    return frozenset(serving + others[-MOST_RUNS:])


def _states(settings: Settings, declared: Sequence[Run]) -> Mapping[Name, RunState | Refused]:
    """The state of each run, or why it cannot be read."""
    try:
        return lifecycle.states(settings, declared) if declared else {}
    except Refused as error:
        if len(declared) > 1:
            return {run.id: _states(settings, [run])[run.id] for run in declared}
        return {declared[0].id: error}


def _live_run(settings: Settings, run: Run, role: run_roles.Role, state: RunState | Refused) -> LiveRun:
    if isinstance(state, Refused):
        return LiveRun(run, role, _unread(settings, run, state), None, None, is_read=False)
    try:
        progress = replay_state.progress_of(settings, run, state) if run.kind == "replay" else None
        return LiveRun(run, role, state, last_epoch(settings, run.id), progress)
    except Refused as error:  # it was damaged just now
        return LiveRun(run, role, _unread(settings, run, error), None, None, is_read=False)


def _unread(settings: Settings, run: Run, error: Refused) -> RunState:
    """The state of a run without its manifest: its process may drive it all the same."""
    process = background.alive(settings, run.id) or _remote_owner(settings, run.id)
    host = process.host if isinstance(process, ProcessIdentity) else None
    pid = process.pid if process else None
    return RunState(run.id, process is not None, f"cannot be read: {error.what}", epoch=-1, pid=pid, host=host)


def _remote_owner(settings: Settings, run: Name) -> ProcessIdentity | None:
    """The process of another machine that drives a run; None also if the leases are damaged, too."""
    try:
        return background.remote_owner(settings, run)
    except Refused:
        return None
