"""Runs Airflow's processes under one parent, which starts again what ends: `python -I airflow_supervisor.py POOL LOGS`.

`airflow standalone` does the same, but its scheduler and triggerer serve their logs on every network interface. Here
the API server reads the logs from a shared folder.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from types import FrameType

_COMMANDS = {
    "api-server": ("airflow", "api-server"),
    "scheduler": ("airflow", "scheduler", "--skip-serve-logs"),
    "dag-processor": ("airflow", "dag-processor"),
    "triggerer": ("airflow", "triggerer", "--skip-serve-logs"),
}
_HISTORY = Path(__file__).with_name("airflow_history.py")
_GRACE = 10.0  # seconds; a scheduler waits for its tasks, which are safe to kill at any time
_STARTS = 5  # again, within _WINDOW: what ends more often has a cause that another start does not remove
_WINDOW = 600.0  # seconds


def main(pool: str, logs: str) -> int:
    """Migrates the database, creates the pool and runs until SIGTERM. Returns 1 when processes end again and again."""
    signal.signal(signal.SIGTERM, _stop)
    preparation = multiprocessing.get_context("fork").Process(target=_prepare, args=(pool,))
    preparation.start()
    preparation.join()
    if preparation.exitcode:
        return 1
    commands = _COMMANDS | {"history": (sys.executable, "-I", str(_HISTORY), logs)}
    children = {name: _start(command) for name, command in commands.items()}
    try:
        return _keep_running(commands, children)
    except KeyboardInterrupt:
        return 0
    finally:
        for child in children.values():
            child.terminate()
        for child in children.values():
            _end(child)


def _prepare(pool: str) -> None:
    """Runs in a child process, so that the parent never imports Airflow."""
    from airflow.models.pool import Pool
    from airflow.utils import db

    db.initdb()
    Pool.create_or_update_pool(pool, 1, "Changes of the served views, one at a time", include_deferred=False)


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _keep_running(commands: dict[str, tuple[str, ...]], children: dict[str, subprocess.Popen[bytes]]) -> int:
    """Starts each process that ends by itself again. Returns 1 after too many starts in too short a time."""
    starts: deque[float] = deque(maxlen=_STARTS)
    while True:
        pid, status = os.wait()
        name = next((name for name, child in children.items() if child.pid == pid), None)
        if name is None:
            continue
        reason = f"airflow {name} ended by itself with {os.waitstatus_to_exitcode(status)}"
        if len(starts) == _STARTS and time.monotonic() - starts[0] < _WINDOW:
            print(f"{reason}, after {_STARTS} other ends in {_WINDOW:.0f} s; stopping all of Airflow", flush=True)
            return 1
        print(f"{reason}; starting it again", flush=True)
        starts.append(time.monotonic())
        with contextlib.suppress(ProcessLookupError):  # nothing of it is left
            os.killpg(pid, signal.SIGKILL)
        children[name] = _start(commands[name])


def _start(command: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Starts a process as the leader of its own group: what it started itself is stopped before it starts again."""
    return subprocess.Popen(command, process_group=0)


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
