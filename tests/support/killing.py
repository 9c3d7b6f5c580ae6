"""SIGKILL as a fault of its own: the process is gone when the call returns."""

from __future__ import annotations

import psutil


def kill(pid: int) -> None:
    """Kills a process and waits for its end: on a busy machine the kernel takes its time."""
    process = psutil.Process(pid)
    process.kill()
    psutil.wait_procs([process], timeout=30)
    assert not psutil.pid_exists(pid) or process.status() == psutil.STATUS_ZOMBIE
