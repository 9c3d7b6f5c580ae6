"""Blocks new epochs of a run while another run takes over from it: one lock file per run, on this machine.

The process of a run holds a shared lock during each epoch; a takeover holds the exclusive lock. The OS releases a
lock when its process dies.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from core.identifiers import Name
from infra.retry import retry_on
from infra.settings import Settings


def run_epoch(settings: Settings, run: Name, patience: float) -> AbstractContextManager[bool]:
    """Holds the run's shared lock for one epoch. Waits at most ``patience`` seconds; yields False without the lock."""
    return _locked(settings, run, fcntl.LOCK_SH, patience)


def block_epochs(settings: Settings, run: Name, patience: float) -> AbstractContextManager[bool]:
    """A block in which the run begins no epoch. Waits at most ``patience`` seconds for the current epoch to end.

    Yields False when that epoch did not end: its process may be paused.
    """
    return _locked(settings, run, fcntl.LOCK_EX, patience)


@contextmanager
def _locked(settings: Settings, run: Name, mode: int, patience: float) -> Iterator[bool]:
    path = settings.run_dir / "held-back" / run
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            retry_on(BlockingIOError, lambda: fcntl.flock(file, mode | fcntl.LOCK_NB), patience, every=0.02)
            locked = True
        except BlockingIOError:
            locked = False
        yield locked
