"""`lk runs` and `lk retire`: every run, and the end of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.identifiers import Name
from infra.control import runs
from infra.control.manifest import last_epoch
from infra.control.run_endings import RunEnding, read_endings
from infra.control.run_roles import pinned_runs, roles, rollback_target, serving_runs
from infra.settings import Settings
from serving.retire import end_run
from speed.process import background, lifecycle


@dataclass(frozen=True)
class RunSummary:
    """A run: its role, its process, committed records and records behind (None if Kafka does not answer)."""

    run: Name
    role: str
    kind: str
    process: str
    epoch: int
    records: int
    behind: int | None
    created_at: datetime
    note: str


def run_summaries(settings: Settings) -> tuple[RunSummary, ...]:
    """Every run, oldest first."""
    ended, role_of = read_endings(settings), roles(settings)
    return tuple(
        _ended_run(run, ended[run.id]) if run.id in ended else _live_run(settings, run, role_of[run.id])
        for run in runs.read_runs(settings)
    )


def retire(settings: Settings, run: Name, *, final: bool = False, why: str = "lk retire") -> RunEnding:
    """Stops a run that nothing uses any more, and deletes its tables and its checkpoint."""
    named = serving_runs(settings) | (frozenset() if final else pinned_runs(rollback_target(settings)))
    if run not in named and run not in read_endings(settings):
        background.stop(settings, runs.read_run(settings, run).id)  # its state may not be readable any more
    return end_run(settings, run, "retired", why=why, final=final)


def _live_run(settings: Settings, run: runs.Run, role: str) -> RunSummary:
    state, last = lifecycle.status(settings, run.id), last_epoch(settings, run.id)
    records = last.end.size if last else 0
    process = state.phase if state.alive else f"{state.phase} (no process)"
    return RunSummary(run.id, role, run.kind, process, state.epoch, records, state.behind, run.created_at, run.note)


def _ended_run(run: runs.Run, end: RunEnding) -> RunSummary:
    return RunSummary(run.id, end.how, run.kind, "ended", -1, 0, None, run.created_at, end.why)
