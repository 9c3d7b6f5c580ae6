"""A lock of a file between the processes of this machine; the OS releases it when its process dies."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.retry import retry_on


@contextmanager
def locked(path: Path, patience: float, *, shared: bool = False) -> Iterator[bool]:
    """Holds the lock while the block runs, alone or ``shared`` with others that share it.

    Waits at most ``patience`` seconds; yields False without the lock. The file stays: a deleted one could be locked
    by two processes, each its own.
    """
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            retry_on(BlockingIOError, lambda: fcntl.flock(file, mode | fcntl.LOCK_NB), patience, every=0.02)
            is_held = True
        except BlockingIOError:
            is_held = False
        yield is_held


@contextmanager
def locked_or_raise(path: Path, patience: float, error: Exception) -> Iterator[None]:
    """Holds the lock alone while the block runs. Raises ``error`` while another process holds it."""
    with locked(path, patience) as is_held:
        if not is_held:
            raise error
        yield


@contextmanager
def exclusive_lock(path: Path, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Holds the lock alone while the block runs. Waits for it without limit, after a call of ``on_wait``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if on_wait:
                on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
