"""Whether other programs use the machine: numbers of a busy machine are labelled, or not measured."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

from core.errors import Refused

_BUSY = 0.10  # share of all cores; the study itself is idle when this is measured
_WATCHED = 2.0
_BYTES_A_RECORD = 2_500  # disk of an instance in all: log, archive, builds, partial rows of two runs


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
            f"other programs use {share:.0%} of the cores: the numbers would be those of both",
            where="this machine",
            fix="stop them (`top` shows them) and call it again, it resumes; or label the rows: --label-busy",
        )
    return True


def require_disk(folder: Path, largest: int) -> None:
    """Raises Refused if the disk has no room for an instance with ``largest`` records."""
    needed, free = largest * _BYTES_A_RECORD + 5 * 10**9, shutil.disk_usage(folder).free
    if free < needed:
        raise Refused(
            f"a log of {largest:,} records needs about {needed / 1e9:.0f} GB in all, and {free / 1e9:.0f} GB are free",
            where=str(folder),
            fix="free some, or name a folder on another disk: --study FOLDER",
        )
