"""Kills a process with SIGKILL and waits for its end."""

from __future__ import annotations

import psutil


def kill(pid: int) -> None:
    """Kills a process and waits for its end, which can take seconds on a busy machine."""
    process = psutil.Process(pid)
    process.kill()
    psutil.wait_procs([process], timeout=30)
    assert not psutil.pid_exists(pid) or process.status() == psutil.STATUS_ZOMBIE
