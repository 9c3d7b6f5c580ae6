"""Whether the machine can be measured now: other programs use it, or its disk is too small."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

from core.errors import Refused
from core.evidence.measurement import TOTAL
from core.evidence.study_rows import Source
from infra import measurement_files, study_files

_BUSY = 0.10  # share of all cores; the study itself is idle when this is measured
_WATCHED = 2.0
# A guess for a size that has no rows yet: a whole instance while a rule changes, with log, archive, builds, and partial
# rows of two runs. No measurement gives it. It is rather too high: a full disk would end a study after hours.
_GUESSED_BYTES_A_RECORD = 2_500
_PEAK = Source("disk", TOTAL, situation="peak")
_SPARE = 5 * 10**9  # bytes of what comes after the peak, and of logs


def busy_share(seconds: float = _WATCHED) -> float:
    """Share of all cores that other programs use, over some seconds, with the time that the host took away."""
    used = psutil.cpu_times_percent(seconds)
    return (100.0 - used.idle - getattr(used, "iowait", 0.0)) / 100


def is_busy(*, label: bool, share: float) -> bool:
    """Whether rows must be labelled as measured on a busy machine. Without ``label``, a busy machine raises Refused."""
    if share <= _BUSY:
        return False
    if not label:
        raise Refused(
            f"other programs use {share:.0%} of the cores, which would distort the figures",
            where="this machine",
            fix="stop them (`top` shows them) and call it again, it resumes; or label the rows: --label-busy",
        )
    return True


def require_disk(folder: Path, largest: int) -> None:
    """Raises Refused if the disk has no room for an instance with ``largest`` records.

    It needs what one of this size needed at most, as rows in ``folder`` say, else a guess.
    """
    needed = (_measured_bytes(folder, largest) or largest * _GUESSED_BYTES_A_RECORD) + _SPARE
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Refused(
            f"a log of {largest:,} records needs about {needed / 1e9:.0f} GB in all, and {free / 1e9:.0f} GB are free",
            where=str(folder),
            fix="free some, or name a folder on another disk: --study FOLDER",
        )


def _measured_bytes(folder: Path, size: int) -> float:
    """The most that an instance of this size used, 0 if none was measured.

    Other sizes do not tell it: a part of the disk is the same for every size, so a small one has more bytes a record.
    """
    rows = folder / study_files.ROWS
    measured = measurement_files.read(rows) if rows.is_dir() else []
    return max((row.value * 1e6 for row in measured if _PEAK.has(row) and row.size == size), default=0.0)
