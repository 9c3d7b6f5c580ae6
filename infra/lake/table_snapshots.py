"""Snapshots of Delta tables that this process opened before, read again while the table has no other commit.

A verb reads some control tables several times, and after years each opening takes longer than the reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from infra.lake import arrow_dataset, damage, delta, delta_log

_SNAPSHOTS: dict[str, TableSnapshot] = {}  # of local tables; an object store is asked each time


@dataclass(frozen=True)
class TableSnapshot:
    """One version of a table; Arrow reads the end of each of its files once."""

    table: DeltaTable
    entry: tuple[int, ...] | None  # of the file of its last commit: device, inode, size, time

    @cached_property
    def _datasets(self) -> dict[tuple[str, ...], Any]:
        """The files of the table for Arrow, by the columns that conditions compare."""
        return {}

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of the columns that are stored."""
        return frozenset(field.name for field in self.table.schema().fields)

    def rows(self, columns: Sequence[str], where: Any = None) -> pa.Table:
        """The rows that meet a condition."""
        by = arrow_dataset.compared(self.table, where)
        if by not in self._datasets:
            self._datasets[by] = delta.dataset(self.table, by)
        return delta.rows_in(self.table, self._datasets[by], columns, where)


def current(path: str) -> TableSnapshot | None:
    """The last version of the table at a path; None without a table. Raises Refused when it is damaged."""
    snapshot = _SNAPSHOTS.get(path)
    if snapshot is not None and _is_last(path, snapshot):
        return snapshot
    if not delta.exists(path):
        damage.require_log_not_lost(path)
        return None
    opened = delta.table(path)
    snapshot = _SNAPSHOTS[path] = TableSnapshot(opened, _file_of(path, opened.version()))
    return snapshot


def _is_last(path: str, snapshot: TableSnapshot) -> bool:
    """Whether the commit of a snapshot is still there, in the same file, and none after it.

    A log loses its oldest entries first: the next commit cannot have come and gone while this one is there.
    """
    version = snapshot.table.version()
    is_there = snapshot.entry is not None and _file_of(path, version) == snapshot.entry
    return is_there and not _entry(path, version + 1).exists()


def _file_of(path: str, version: int) -> tuple[int, ...] | None:
    """Device, inode, size and time of the file of a commit; None in an object store, and where it is gone."""
    if not path.startswith("/"):
        return None
    try:
        status = _entry(path, version).stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _entry(path: str, version: int) -> Path:
    return Path(path, delta_log.entry(version))
