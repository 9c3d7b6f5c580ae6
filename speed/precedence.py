"""Who reads first: a run that nobody reads, or beside which a replay catches up without a limit, takes fewer epochs.

An epoch costs about as much with one record as with a thousand, so fewer of them leave the cores to who needs them.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from core.ident import Name
from infra.settings import Settings

_EXPIRES = 60.0  # seconds; a replay says it at the start of each big epoch


def claim(settings: Settings, run: Name, *, wanted: bool) -> None:
    """Says that a run reads first, or that it does not any more."""
    path = _folder(settings) / run
    if wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    else:
        path.unlink(missing_ok=True)


def rest(settings: Settings, run: Name, began: float, stop: threading.Event, *, serving: bool) -> None:
    """Waits until ``yield_seconds`` after ``began`` (``time.monotonic``) where the run comes second."""
    if not serving or _others(settings, run):
        stop.wait(max(0.0, began + settings.yield_seconds - time.monotonic()))


def _others(settings: Settings, run: Name) -> bool:
    return any(path.name != run and time.time() - _touched(path) < _EXPIRES for path in _folder(settings).glob("*"))


def _touched(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _folder(settings: Settings) -> Path:
    return settings.run_dir / "precedence"
