"""The logs of background processes stay bounded: a large one is copied beside itself and emptied."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from infra.settings import Settings

PREVIOUS = ".1.log"  # the suffix of the log before: of an earlier start, or from before the log was emptied


def shorten_logs(settings: Settings) -> tuple[Path, ...]:
    """Empties each log that is too large, and keeps its last bytes as ``NAME.1.log``; returns the emptied ones.

    The process goes on writing: it opened its log to append, and may add some minutes of lines before the next look.
    Lines of the same moment may be lost.
    """
    return tuple(_shortened(settings.log_dir, settings.log_mebibytes * 1024 * 1024))


def _shortened(folder: Path, largest: int) -> Iterator[Path]:
    for log in sorted(folder.glob("*.log")):
        with contextlib.suppress(OSError):  # another process shortens it too, or it is another user's
            if not log.name.endswith(PREVIOUS) and log.stat().st_size > largest:
                with contextlib.suppress(OSError):  # a full disk: it must get space all the more
                    _keep_last_bytes(log, largest)
                os.truncate(log, 0)
                yield log


def _keep_last_bytes(log: Path, size: int) -> None:
    part = log.with_suffix(f".{os.getpid()}.part")
    try:
        with log.open("rb") as source, part.open("wb") as target:
            source.seek(-size, os.SEEK_END)
            shutil.copyfileobj(source, target)
        part.replace(log.with_suffix(PREVIOUS))
    finally:
        part.unlink(missing_ok=True)
