"""Holds a run back between two epochs while another takes over from it: one lock file per run, on this machine.

Whoever drives a run shares its lock for each epoch; who takes over needs it alone. The system takes both from the dead.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from core.identifiers import Name
from infra.retry import retry_on
from infra.settings import Settings


def run_epoch(settings: Settings, run: Name, patience: float) -> AbstractContextManager[bool]:
    """An epoch of the run; waits for who holds it back, at most ``patience`` seconds. Whether nobody does."""
    return _locked(settings, run, fcntl.LOCK_SH, patience)


def block_epochs(settings: Settings, run: Name, patience: float) -> AbstractContextManager[bool]:
    """A block in which the run begins no epoch; waits for the one under way, at most ``patience`` seconds.

    False when that did not end: its process may be paused.
    """
    return _locked(settings, run, fcntl.LOCK_EX, patience)


@contextmanager
def _locked(settings: Settings, run: Name, how: int, patience: float) -> Iterator[bool]:
    path = settings.run_dir / "held-back" / run
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            retry_on(BlockingIOError, lambda: fcntl.flock(file, how | fcntl.LOCK_NB), patience, every=0.02)
            locked = True
        except BlockingIOError:
            locked = False
        yield locked
