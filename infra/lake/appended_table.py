"""A Delta table to which one process appends again and again, each append once, as epochs do.

In a local folder the commits are written by ``log_entries``: delta-rs takes ten times the CPU time for each, as it
reads the log again and plans a query. On an object store, and in a table with newer features, delta-rs writes them.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from core.errors import TryAgain
from infra.lake import checksums, delta, delta_log, files, idempotent_writes, log_entries
from infra.lake.fence import Fence

_WRITER_VERSION = 2  # of Delta's protocol, which log_entries implements
_ATTEMPTS = 10  # a commit of this process's maintenance holds the mutex; others' are rare


class AppendedTable:
    """A table as of when its log was last looked at, and the appends of this object since."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._table = delta.table(path)
        self._version = int(self._table.version())  # with the commits of this object, of which _table does not know
        self._txns: dict[str, int | None] = {}

    def version(self) -> int:
        """The last version that is known here."""
        return self._version

    def transaction_version(self, app: str) -> int | None:
        """The last version that ``app`` committed."""
        if app not in self._txns:
            version = self._table.transaction_version(app)
            self._txns[app] = None if version is None else int(version)
        return self._txns[app]

    def refresh(self) -> None:
        """Reads what others have committed."""
        if not self._is_last():
            self._table = delta.table(self.path)
            self._forget()

    def append_once(self, rows: pa.Table, app: str, number: int, lease: Fence) -> int | None:
        """Appends rows and returns the table's version; None when (app, number) was committed before.

        Raises TryAgain when the lease is lost, or when other writers commit again and again.
        """
        with delta.mutex(self.path):
            if self.path.startswith("/"):
                return self._append(rows, app, number, lease)
            return self._append_by_delta_rs(rows, app, number, lease)

    def _append(self, rows: pa.Table, app: str, number: int, lease: Fence) -> int | None:
        add = None
        for _ in range(_ATTEMPTS):
            self.refresh()
            if self._table.protocol().min_writer_version > _WRITER_VERSION:
                return self._append_by_delta_rs(rows, app, number, lease)
            lease.check_against(self)
            last = self.transaction_version(app)
            if last is not None and last >= number:
                return None
            add = add or log_entries.write_file(self.path, idempotent_writes.with_columns_of(self._table, rows))
            txns = {lease.app: lease.generation, app: number}
            if log_entries.commit(self.path, self._version + 1, add, txns):
                self._require_newest(self._version + 1)
                self._version += 1
                self._txns |= txns
                checksums.record(self.path, self._version)
                return self._version
        raise TryAgain("other writers committed first, again and again", where=self.path, fix="run the command again")

    def _require_newest(self, version: int) -> None:
        """Raises TryAgain for a commit that no reader sees: after a long pause, it may be in a place of the log again.

        Others have committed this version before, and deleted it with what a checkpoint made superfluous.
        """
        file_system, root = files.filesystem(self.path)
        if delta_log.last_checkpoint(file_system, root) >= version:
            raise TryAgain("another process has taken over meanwhile", where=self.path, fix="run the command again")

    def _append_by_delta_rs(self, rows: pa.Table, app: str, number: int, lease: Fence) -> int | None:
        written = idempotent_writes.append_once(self.path, rows, app, number, lease=lease, opened=self._table)
        self._forget()
        return written

    def _forget(self) -> None:
        self._version = int(self._table.version())
        self._txns = {}

    def _is_last(self) -> bool:
        """Whether nobody else has committed. Where the entry that is known is gone, entries after it may be, too."""
        if not self.path.startswith("/"):
            return False
        last, following = (Path(self.path, delta_log.entry(self._version + n)) for n in (0, 1))
        return last.exists() and not following.exists()
