"""Kills a process with SIGKILL and waits for its end."""

from __future__ import annotations

import psutil

from infra.retry import wait_until


def has_ended(pid: int) -> bool:
    """Whether the process is gone, or a zombie that its parent has not reaped yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def kill(pid: int) -> None:
    """Kills a process and waits for its end, which can take seconds on a busy machine."""
    psutil.Process(pid).kill()
    wait_until(lambda: has_ended(pid), 60, every=0.05, error=lambda: AssertionError(f"process {pid} is still there"))
