"""Control tables: small and append-only, written under a lease whose generation is in each commit.

A change of state (intent, done) is a new row; the last row of a subject counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from core.cut import Cut
from core.errors import LkError
from core.identifiers import Name
from infra.lake import compaction, delta, durable, leases, table_paths, table_snapshots
from infra.lake.leases import Lease
from infra.settings import Settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from deltalake import DeltaTable

TIME = pa.timestamp("us", tz="UTC")
TEXT = pa.string()
# Bytes of a merged file -> how many files of less than half of that are merged. Each file takes a millisecond of every
# read; merging in two sizes writes an old row again twice, not with every tenth commit.
_MERGED = {64 * 1024: 10, 1024 * 1024: 20}


@dataclass(frozen=True)
class ControlTable:
    """A control table: its name below ``control/`` and its columns."""

    name: str
    schema: pa.Schema

    def path(self, settings: Settings) -> str:
        """The path of the table."""
        return table_paths.control(settings, Name(self.name))

    def read(
        self, settings: Settings, columns: Sequence[str] | None = None, where: pc.Expression | None = None
    ) -> list[dict[str, Any]]:
        """Every row, or those that meet a condition, in no order; an empty list without the table.

        ``columns`` are some of the declared ones; default: all. A column that an older program did not write is None.
        One that only a newer program knows stays in the table.
        """
        names = columns or self.schema.names
        rows = self.read_arrow(settings, names, where)
        none = [None] * rows.num_rows
        values = [rows[name].to_pylist() if name in rows.column_names else none for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]

    def read_arrow(self, settings: Settings, columns: Sequence[str], where: pc.Expression | None = None) -> pa.Table:
        """Columns of the rows as Arrow, for a table of years; without those that an older program did not write."""
        snapshot = table_snapshots.current(self.path(settings))
        if snapshot is None:
            return self.schema.empty_table().select(list(columns))
        return snapshot.rows([name for name in columns if name in snapshot.columns], where)

    def append(self, settings: Settings, lease: Lease, *rows: Mapping[str, Any]) -> None:
        """Writes rows in one commit, under the lease that protects the table (see locks.py)."""
        path = self.path(settings)
        opened = leases.append(lease, path, pa.Table.from_pylist(list(rows), schema=self.schema))
        bound_files(path, opened, lease)


def has_many_files(opened: DeltaTable) -> bool:
    """Whether the table has so many small files that ``bound_files`` would compact it."""
    return any(compaction.small_files(opened, size // 2) >= most for size, most in _MERGED.items())


def bound_files(path: str, opened: DeltaTable, lease: Lease | None = None) -> None:
    """Compacts a table of many small files. A failure is left to the next call: the rows are committed already."""
    for size, most in _MERGED.items():
        if compaction.small_files(opened, size // 2) >= most:
            with contextlib.suppress(DeltaError, OSError, LkError):
                compaction.compact_and_checkpoint(path, size, lease)
                durable.sync_table(path, delta.table(path))


def as_row(value: DataclassInstance, **columns: str | None) -> dict[str, Any]:
    """A dataclass as a row of its table: cuts as text, and ``columns`` instead of the fields of their names."""
    fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
    return {name: str(field) if isinstance(field, Cut) else field for name, field in fields.items()} | columns


def stored_times(table: ControlTable, settings: Settings, builds: Iterable[Name]) -> list[datetime]:
    """When the stored rows of these builds were written, of a table with the columns ``build`` and ``at``."""
    names = pa.array(sorted(set(builds)), TEXT)
    return [row["at"] for row in table.read(settings, ("at",), pc.field("build").isin(names))]


def later_than_stored(at: datetime, stored: Iterable[datetime]) -> datetime:
    """``at``, or the next microsecond after the stored rows of a subject: its last row counts, and clocks step back."""
    return max([at, *(time + timedelta(microseconds=1) for time in stored)])


def optional_name(text: str | None) -> Name | None:
    """A name from a column that may be null."""
    return Name(text) if text else None
