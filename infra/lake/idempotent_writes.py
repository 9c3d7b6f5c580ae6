"""Writes that commit exactly once per ``txn`` (app, version), however often they are repeated.

delta-rs writes the ``txn`` action but does not skip a repeated one. So the last version is read from the table object
that then writes: a commit of the same app in between is a conflict. Threads of a process take the table's mutex.
"""

from __future__ import annotations

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from core.errors import TryAgain
from infra.lake import checksums, delta
from infra.lake.fence import Fence
from infra.library_errors import first_line


def append_once(
    path: str, rows: pa.Table, app: str, version: int, *, lease: Fence | None = None, opened: DeltaTable | None = None
) -> int | None:
    """Appends rows and returns the table's version; None when (app, version) was committed before.

    ``opened`` is a table object that the caller keeps: updating it is cheaper than opening the table.
    Raises TryAgain when another writer committed the same app meanwhile, or when the lease is lost.
    """
    return _write_once(path, rows, app, version, lease, opened=opened)


def overwrite_once(
    path: str,
    rows: pa.Table | pa.RecordBatchReader,
    predicate: str,
    app: str,
    version: int,
    *,
    lease: Fence | None = None,
    opened: DeltaTable | None = None,
) -> int | None:
    """Replaces the rows that match ``predicate`` in one commit; None when (app, version) was committed before.

    ``opened`` is as in ``append_once``.
    """
    return _write_once(path, rows, app, version, lease, predicate=predicate, opened=opened)


def txn_version(path: str, app: str) -> int | None:
    """The last version that ``app`` committed."""
    return _txn(delta.table(path), app)


def _write_once(
    path: str,
    rows: pa.Table | pa.RecordBatchReader,
    app: str,
    version: int,
    lease: Fence | None,
    *,
    predicate: str | None = None,
    opened: DeltaTable | None = None,
) -> int | None:
    with delta.mutex(path), conflicts(path):
        if opened is None:
            opened = delta.table(path)
        else:
            opened.update_incremental()
        txns = [*fence_txns(lease, opened), Transaction(app, version)]
        committed = _txn(opened, app)
        if committed is not None and committed >= version:
            return None
        commit = CommitProperties(app_transactions=txns)
        rows = with_columns_of(opened, rows) if isinstance(rows, pa.Table) else _batches_with_columns_of(opened, rows)
        if predicate is None:
            write_deltalake(
                opened,
                rows,
                mode="append",
                commit_properties=commit,
                post_commithook_properties=delta.HOOKS,
                writer_properties=delta.WRITER,
            )
        else:
            write_deltalake(
                opened,
                rows,
                mode="overwrite",
                predicate=predicate,
                commit_properties=commit,
                post_commithook_properties=delta.HOOKS,
                writer_properties=delta.WRITER,
            )
        written = int(opened.version())
    checksums.record(path, written)
    return written


def with_columns_of(opened: DeltaTable, rows: pa.Table) -> pa.Table:
    """The rows with the columns that a newer program has added to the table, null."""
    if [field.name for field in opened.schema().fields] == rows.column_names:
        return rows
    stored = pa.schema(opened.schema().to_arrow())
    for field in stored:
        if field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(stored.names)


def _batches_with_columns_of(opened: DeltaTable, rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same for rows that are read a few at a time."""
    schema = with_columns_of(opened, rows.schema.empty_table()).schema
    tables = (with_columns_of(opened, pa.Table.from_batches([batch])) for batch in rows)
    return pa.RecordBatchReader.from_batches(schema, (batch for table in tables for batch in table.to_batches()))


def fence_txns(lease: Fence | None, opened: DeltaTable) -> list[Transaction]:
    """The ``txn`` action of a lease that no later owner has replaced in this snapshot."""
    if lease is None:
        return []
    lease.check_against(opened)
    return [lease.transaction]


class conflicts:  # noqa: N801 - reads as a word in a with statement
    """Raises TryAgain instead of delta-rs's error for a commit conflict."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CommitFailedError):
            reason = first_line(str(error))
            raise TryAgain(
                f"another writer committed first: {reason}", where=self.path, fix="run the command again"
            ) from None


def _txn(opened: DeltaTable, app: str) -> int | None:
    version = opened.transaction_version(app)
    return None if version is None else int(version)
