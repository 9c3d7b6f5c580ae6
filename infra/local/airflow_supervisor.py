"""Runs Airflow's processes under one parent: `python -I airflow_run.py POOL`. All of them end when one does.

`airflow standalone` does the same, but its scheduler and triggerer serve their logs on every network interface. Here
the API server reads the logs from the folder that all share.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from types import FrameType

_PARTS = (
    ("api-server",),
    ("scheduler", "--skip-serve-logs"),
    ("dag-processor",),
    ("triggerer", "--skip-serve-logs"),
)
_GRACE = 10.0  # a scheduler would wait for its tasks, which are safe to end at any time


def main(pool: str) -> int:
    """Brings the database up to date, makes the pool, runs until told to stop; 1 when a process ended by itself."""
    signal.signal(signal.SIGTERM, _stop)
    prepared = multiprocessing.get_context("fork").Process(target=_prepare, args=(pool,))
    prepared.start()
    prepared.join()
    if prepared.exitcode:
        return 1
    children = [subprocess.Popen(["airflow", *words]) for words in _PARTS]
    try:
        return _until_one_ends(children)
    except KeyboardInterrupt:
        return 0
    finally:
        for child in children:
            child.terminate()
        for child in children:
            _end(child)


def _prepare(pool: str) -> None:
    """In a process of its own, so that the parent stays small; two commands would import Airflow twice."""
    from airflow.models.pool import Pool
    from airflow.utils import db

    db.initdb()
    Pool.create_or_update_pool(pool, 1, "What changes what is served, one at a time", include_deferred=False)


def _stop(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _until_one_ends(children: list[subprocess.Popen[bytes]]) -> int:
    pid, _ = os.wait()
    ended = next((words for words, child in zip(_PARTS, children, strict=True) if child.pid == pid), ("?",))
    print(f"airflow {ended[0]} ended by itself, so all of Airflow ends", flush=True)
    return 1


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
