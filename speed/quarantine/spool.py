"""Values by the positions of their records, on disk: what is in quarantine may be larger than memory."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from core.errors import Refused
from core.positions import RecordPosition

Value = TypeVar("Value")

_CREATE = (
    "pragma journal_mode = off",
    "create table spool (topic text, number integer, position integer, value blob, unique (topic, number, position))",
)
_AT = "where topic = ? and number = ? and position = ?"


@dataclass(frozen=True)
class Spool(Generic[Value]):
    """At most one value for each position; see ``spool``."""

    _rows: sqlite3.Connection

    def add(self, position: RecordPosition, value: Value) -> bool:
        """Keeps a value unless the position has one already; whether it was kept."""
        row = (*position, pickle.dumps(value))
        return self._rows.execute("insert or ignore into spool values (?, ?, ?, ?)", row).rowcount == 1

    def remove(self, position: RecordPosition) -> bool:
        """Forgets the value of a position; whether it had one."""
        return self._rows.execute(f"delete from spool {_AT}", position).rowcount == 1  # noqa: S608 - a constant

    def get(self, position: RecordPosition) -> Value | None:
        """The value of a position."""
        row = self._rows.execute(f"select value from spool {_AT}", position).fetchone()  # noqa: S608 - a constant
        return _loaded(row) if row else None

    def __iter__(self) -> Iterator[Value]:
        """The values by topic, partition and offset."""
        yield from map(_loaded, self._rows.execute("select value from spool order by topic, number, position"))


@contextmanager
def spool() -> Iterator[Spool[Any]]:
    """An empty spool, in a temporary database without a name: its file ends with the process.

    SQLite puts it into SQLITE_TMPDIR, TMPDIR or /var/tmp. Raises Refused when there is no room.
    """
    rows = sqlite3.connect("")
    try:
        for statement in _CREATE:
            rows.execute(statement)
        yield Spool(rows)
    except sqlite3.OperationalError as e:
        fix = "set TMPDIR to a folder with as much room as the records take"
        raise Refused(f"the records cannot be kept on disk: {e}", where="the folder of temporary files", fix=fix) from e
    finally:
        rows.close()


def _loaded(row: tuple[bytes]) -> Any:
    return pickle.loads(row[0])  # noqa: S301 - this process wrote it
