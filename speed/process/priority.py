"""Who reads first: beside what computes history, and where nobody reads what a run writes, a run takes fewer epochs.

An epoch costs about as much with one record as with a thousand, so fewer of them leave the cores to who needs them.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from core.identifiers import Name
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings


def claim_priority(settings: Settings, who: Name, *, wanted: bool) -> None:
    """Says that this process reads first, in the name of ``who``, or that it does not any more."""
    path = _folder(settings) / who
    if wanted:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(ProcessIdentity.current())), "utf-8")
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def with_priority(settings: Settings, who: Name) -> Iterator[None]:
    """Claims it for the block."""
    claim_priority(settings, who, wanted=True)
    try:
        yield
    finally:
        claim_priority(settings, who, wanted=False)


def pause(settings: Settings, run: Name, began: float, stop: threading.Event, *, serving: bool) -> None:
    """Waits until ``yield_seconds`` after ``began`` (``time.monotonic``) where the run comes second."""
    if not serving or _others(settings, run):
        stop.wait(max(0.0, began + settings.yield_seconds - time.monotonic()))


def _others(settings: Settings, run: Name) -> bool:
    return any(path.name != run and _lives(path) for path in _folder(settings).glob("*"))


def _lives(path: Path) -> bool:
    """Whether the process that said so is there; a killed one holds nobody up."""
    try:
        return not ProcessIdentity(**json.loads(path.read_text("utf-8"))).is_dead
    except (FileNotFoundError, ValueError):
        return False  # taken back, or only half written, at this moment


def _folder(settings: Settings) -> Path:
    return settings.run_dir / "precedence"
