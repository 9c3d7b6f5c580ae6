"""Delta tables through delta-rs: created with declared types, written exactly once per (app, version).

``deltalake`` writes the ``txn`` action but does not skip by itself, so the version is read from the table object that
then writes: a commit in between by the same app is a conflict. One process writes a table; threads take its mutex.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa
from deltalake import (
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from pyarrow.fs import SubTreeFileSystem

from core.errors import Refused, TryAgain
from infra.lake import files
from infra.lake.arrow_types import comparable_schema
from infra.lake.object_store import SCHEME, delta_options, uri

HOUR = "interval 1 hours"
_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_WRITER = WriterProperties(compression="SNAPPY")
_MUTEXES: dict[str, threading.RLock] = {}
_MUTEXES_LOCK = threading.Lock()


class Fence(Protocol):
    """Proof that a writer still owns a table; a held lease is one."""

    @property
    def transaction(self) -> Transaction:
        """The ``txn`` action that each of the writer's commits carries, so that it conflicts with a later owner's."""

    def check_against(self, table: DeltaTable) -> None:
        """Raises TryAgain when this snapshot holds a commit of a later owner."""


def mutex(path: str) -> threading.RLock:
    """The one lock per table inside this process: append, Spark append, compaction and fold take it."""
    with _MUTEXES_LOCK:
        return _MUTEXES.setdefault(path, threading.RLock())


def table(path: str, version: int | None = None) -> DeltaTable:
    """The table at a path. Raises Refused when there is none."""
    try:
        return DeltaTable(uri(path), version=version, storage_options=delta_options(path))
    except TableNotFoundError:
        raise Refused("there is no such table", where=path, fix="see `lk status`") from None


def exists(path: str) -> bool:
    """Whether there is a table."""
    return bool(DeltaTable.is_deltatable(uri(path), delta_options(path)))


def create(
    path: str, schema: pa.Schema, *, log_retention: str | None = None, checkpoint_every: int | None = None
) -> None:
    """Makes the table with declared types when it is missing. Raises Refused when it is there with other types.

    ``log_retention`` such as ``interval 1 hours`` also bounds how long removed files stay; None keeps Delta's default.
    ``checkpoint_every`` is commits, of those that ask for checkpoints.
    """
    kept = {"delta.logRetentionDuration": log_retention, "delta.deletedFileRetentionDuration": log_retention}
    configuration = kept if log_retention else {}
    if checkpoint_every:
        configuration["delta.checkpointInterval"] = str(checkpoint_every)
    with mutex(path):
        options = delta_options(path)
        DeltaTable.create(uri(path), schema, mode="ignore", configuration=configuration, storage_options=options)
        found = pa.schema(table(path).schema().to_arrow())
    if comparable_schema(found) != comparable_schema(schema):
        raise Refused(
            f"the table has other columns: {comparable_schema(found)}, declared are {comparable_schema(schema)}",
            where=path,
            fix="a changed definition needs a new run or build",
        )


def append_once(
    path: str, rows: pa.Table, app: str, version: int, *, lease: Fence | None = None, opened: DeltaTable | None = None
) -> int | None:
    """Appends and returns the table's version; None when (app, version) was written before.

    ``opened`` is a handle that the caller keeps: bringing it up to date is cheaper than opening the table.
    Raises TryAgain when another writer of the same app committed meanwhile, or when the lease is lost.
    """
    return _write_once(path, rows, app, version, lease, opened=opened)


def overwrite_once(
    path: str, rows: pa.Table, predicate: str, app: str, version: int, *, lease: Fence | None = None
) -> int | None:
    """Replaces the rows that match ``predicate`` by ``rows`` in one commit; None when it was done before."""
    return _write_once(path, rows, app, version, lease, predicate=predicate)


def read(
    path: str,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    version: int | None = None,
) -> pa.Table:
    """Rows as Arrow; ``filters`` as pyarrow takes them. Raises Refused when there is no such table."""
    return rows_of(table(path, version), columns, filters)


def rows_of(opened: DeltaTable, columns: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
    """Rows of an open table as Arrow, read through Arrow's own file system.

    delta-rs's file system is Python: a reader thread of Arrow that still closes a file in it while the interpreter
    ends would abort the process.
    """
    below, root = files.filesystem(opened.table_uri.replace("s3://", SCHEME, 1))
    wanted = list(columns) if columns else None
    return opened.to_pyarrow_table(columns=wanted, filters=filters, filesystem=SubTreeFileSystem(root, below))


def version(path: str) -> int:
    """The newest version of the table."""
    return int(table(path).version())


def row_count(path: str) -> int:
    """How many rows the table's writers counted."""
    return sum(pa.table(table(path).get_add_actions()).column("num_records").to_pylist())


def txn_version(path: str, app: str) -> int | None:
    """The last version that ``app`` committed."""
    return _txn(table(path), app)


def checkpoint(path: str) -> None:
    """Sums up the log, so that opening the table stays quick."""
    with mutex(path):
        table(path).create_checkpoint()


def compact(path: str, size: int | None = None, *, lease: Fence | None = None) -> int:
    """Merges files smaller than ``size`` bytes (default: delta-rs's own); returns how many were removed."""
    with mutex(path), _conflicts(path):
        opened = table(path)
        commit = _commit(_checked(lease, opened))
        done = opened.optimize.compact(target_size=size, commit_properties=commit, post_commithook_properties=_HOOKS)
    return int(done["numFilesRemoved"])


def vacuum(path: str) -> int:
    """Deletes files and log entries older than the table's retention; returns how many files."""
    with mutex(path):
        opened = table(path)
        gone = opened.vacuum(
            retention_hours=None, dry_run=False, enforce_retention_duration=False, post_commithook_properties=_HOOKS
        )
        table(path).cleanup_metadata()
    return len(gone)


def _write_once(
    path: str,
    rows: pa.Table,
    app: str,
    version: int,
    lease: Fence | None,
    *,
    predicate: str | None = None,
    opened: DeltaTable | None = None,
) -> int | None:
    with mutex(path), _conflicts(path):
        if opened is None:
            opened = table(path)
        else:
            opened.update_incremental()
        txns = [*_checked(lease, opened), Transaction(app, version)]
        done = _txn(opened, app)
        if done is not None and done >= version:
            return None
        commit = _commit(txns)
        if predicate is None:
            write_deltalake(
                opened,
                rows,
                mode="append",
                commit_properties=commit,
                post_commithook_properties=_HOOKS,
                writer_properties=_WRITER,
            )
        else:
            write_deltalake(
                opened,
                rows,
                mode="overwrite",
                predicate=predicate,
                commit_properties=commit,
                post_commithook_properties=_HOOKS,
                writer_properties=_WRITER,
            )
        return int(opened.version())


def _checked(lease: Fence | None, opened: DeltaTable) -> list[Transaction]:
    """The ``txn`` action of a lease that no later owner has replaced in this snapshot."""
    if lease is None:
        return []
    lease.check_against(opened)
    return [lease.transaction]


def _commit(txns: list[Transaction]) -> CommitProperties:
    return CommitProperties(app_transactions=txns)


class _conflicts:  # noqa: N801 - reads as a word in a with statement
    """Turns a lost commit race into TryAgain."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CommitFailedError):
            reason = str(error).splitlines()[0]
            raise TryAgain(
                f"another writer committed first: {reason}", where=self.path, fix="run the command again"
            ) from None


def _txn(opened: DeltaTable, app: str) -> int | None:
    found = opened.transaction_version(app)
    return None if found is None else int(found)
