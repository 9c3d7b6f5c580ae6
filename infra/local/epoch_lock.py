"""Blocks new epochs of a run while another run is promoted: one lock file per run, on this machine.

The process of a run holds a shared lock during each epoch; a promotion holds the exclusive lock. The OS releases a
lock when its process dies.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from core.identifiers import Name
from infra.file_lock import locked
from infra.settings import Settings


def run_epoch(settings: Settings, run: Name, patience: float) -> AbstractContextManager[bool]:
    """Holds the run's shared lock for one epoch. Waits at most ``patience`` seconds; yields False without the lock."""
    return locked(_path(settings, run), patience, shared=True)


def block_epochs(settings: Settings, run: Name, patience: float) -> AbstractContextManager[bool]:
    """A block in which the run begins no epoch. Waits at most ``patience`` seconds for the current epoch to end.

    Yields False when that epoch did not end: its process may be paused.
    """
    return locked(_path(settings, run), patience)


def _path(settings: Settings, run: Name) -> Path:
    return settings.run_dir / "held-back" / run  # this name: a process of an older program locks the same file
