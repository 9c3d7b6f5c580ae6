"""Runs Airflow's processes under one parent: `python -I airflow_supervisor.py POOL LOGS`. When one ends, all end.

`airflow standalone` does the same, but its scheduler and triggerer serve their logs on every network interface. Here
the API server reads the logs from a shared folder.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

_COMMANDS = (
    ("api-server",),
    ("scheduler", "--skip-serve-logs"),
    ("dag-processor",),
    ("triggerer", "--skip-serve-logs"),
)
_HISTORY = Path(__file__).with_name("airflow_history.py")
_GRACE = 10.0  # seconds; a scheduler waits for its tasks, which are safe to kill at any time


def main(pool: str, logs: str) -> int:
    """Migrates the database, creates the pool and runs until SIGTERM. Returns 1 when a process ended by itself."""
    signal.signal(signal.SIGTERM, _stop)
    preparation = multiprocessing.get_context("fork").Process(target=_prepare, args=(pool,))
    preparation.start()
    preparation.join()
    if preparation.exitcode:
        return 1
    children = {command[0]: subprocess.Popen(["airflow", *command]) for command in _COMMANDS}
    children["history"] = subprocess.Popen([sys.executable, "-I", _HISTORY, logs])
    try:
        return _until_one_ends(children)
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


def _until_one_ends(children: Mapping[str, subprocess.Popen[bytes]]) -> int:
    pid, _ = os.wait()
    name = next((name for name, child in children.items() if child.pid == pid), "?")
    print(f"airflow {name} ended by itself; stopping all of Airflow", flush=True)
    return 1


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
