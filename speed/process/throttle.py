"""How fast a run may read: a limit beside its checkpoint, which can be changed while the run is driven."""

from __future__ import annotations

import json
import threading
import time

from core.identifiers import Name
from infra.lake import files, table_paths
from infra.settings import Settings

SHORTEST = 10_000  # offsets; a smaller epoch would be all planning
_WORTH = 4  # seconds of reading in one epoch under a limit


def limit(settings: Settings, run: Name) -> int | None:
    """Most records a second; None when the run may read as fast as it can."""
    found_in, path = files.filesystem(_path(settings, run))
    try:
        with found_in.open_input_stream(path) as stream:
            found = json.loads(stream.read())["records_per_second"]
    except (FileNotFoundError, ValueError):
        return None
    return int(found) if found else None


def set_limit(settings: Settings, run: Name, records_per_second: int | None) -> None:
    """Replaces the limit; the run heeds it from its next epoch on."""
    found_in, path = files.filesystem(_path(settings, run))
    found_in.create_dir(path.rpartition("/")[0], recursive=True)
    files.replace(_path(settings, run), json.dumps({"records_per_second": records_per_second}).encode())


def epoch_size(settings: Settings, kind: str, most: int | None) -> int:
    """Most offsets of one epoch: big ones for a replay, some seconds' worth under a limit."""
    largest = settings.replay_offsets_per_trigger if kind == "replay" else settings.max_offsets_per_trigger
    return largest if most is None else max(SHORTEST, min(largest, _WORTH * most))


def pause(size: int, began: float, most: int | None, stop: threading.Event) -> None:
    """Waits until ``size`` records have taken as long as the limit asks, or until told to stop."""
    if most is not None:
        stop.wait(max(0.0, began + size / most - time.monotonic()))


def _path(settings: Settings, run: Name) -> str:
    return f"{table_paths.checkpoint(settings, run)}/throttle.json"
