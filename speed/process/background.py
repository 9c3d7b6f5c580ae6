"""Starts, stops and looks up the background process that drives a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from core.errors import LkError, Refused, TryAgain, from_document
from core.identifiers import Name
from infra.child_environment import child_environment
from infra.lake import leases
from infra.lake.process_identity import ProcessIdentity
from infra.local import local_processes
from infra.local.local_processes import Process
from infra.retry import wait_until
from infra.settings import Settings
from speed.process import emr_job, state_file

PREFIX = "speed-"  # of the name of each run's process
DEADLINE = 300.0  # Spark starts in ten seconds, and on a slow machine with other work in some minutes
GRACE = 60.0


def start(settings: Settings, run: Name, *words: str) -> bool:
    """Starts `lk WORDS` as the process of a run and waits until its state is running; True when it already ran.

    With an EMR application in the settings it is a job run there. Raises the reason when it does not start.
    """
    already = alive(settings, run) is not None or remote_owner(settings, run) is not None
    if not already and settings.emr_application:
        emr_job.start(settings, run, words)
        return False
    if not already:
        local_processes.stop_process(settings, name(run))
        state_file.state_path(settings, run).unlink(missing_ok=True)
        local_processes.start_process(
            settings, name(run), [sys.executable, "-m", "cli", *words], env=child_environment(settings)
        )
    if alive(settings, run) is not None or not already:
        wait_until(lambda: _is_running(settings, run), DEADLINE, every=0.1, error=lambda: _late(settings, run))
    return already


def stop(settings: Settings, run: Name) -> None:
    """Stops it between two epochs. A process that has not ended after a minute is killed, a job run is cancelled."""
    local_processes.stop_process(settings, name(run), grace=GRACE)
    if settings.emr_application:
        emr_job.stop(settings, run)


def alive(settings: Settings, run: Name) -> Process | None:
    """The process of a run, if it runs on this machine."""
    return local_processes.running_process(settings, name(run))


def remote_owner(settings: Settings, run: Name) -> ProcessIdentity | None:
    """The process that holds the run's lease, if it is not the one that ``start`` started on this machine."""
    return None if alive(settings, run) else leases.holder(settings, f"run_{run}")


def log_file(settings: Settings, run: Name) -> Path:
    """The log of a run's process."""
    return local_processes.log_file(settings, name(run))


def name(run: Name) -> str:
    """The name of a run's process."""
    return f"{PREFIX}{run}"


def _is_running(settings: Settings, run: Name) -> bool:
    process = alive(settings, run)
    state = state_file.read_state(settings, run)
    if process is None:
        raise _start_error(settings, run, state)
    return state.get("phase") == "running" and state.get("pid") == process.pid


def _start_error(settings: Settings, run: Name, state: Mapping[str, object]) -> LkError:
    log = log_file(settings, run)
    reason = state.get("reason")
    if isinstance(reason, dict):
        return from_document(reason)
    lines = local_processes.below_message(log, 10)
    return Refused(f"{run} exited during startup; its last lines:{lines}", where=str(log), fix="read this log file")


def _late(settings: Settings, run: Name) -> TryAgain:
    return TryAgain(
        f"{run} did not start within {DEADLINE:.0f} s",
        where=str(log_file(settings, run)),
        fix="read this log file; the same command waits again",
    )
