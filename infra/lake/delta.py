"""Delta tables through delta-rs: created with declared types, opened and read."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, PostCommitHookProperties, Schema, WriterProperties, write_deltalake
from deltalake.exceptions import TableNotFoundError
from pyarrow.fs import SubTreeFileSystem
from pyarrow.parquet import filters_to_expression

from core.errors import Refused
from infra.lake import arrow_dataset, checksums, damage, delta_log, files
from infra.lake.arrow_types import bounded_columns, comparable_schema
from infra.lake.object_store import SCHEME, delta_options, uri

HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
# A reader of one epoch decodes one row group: a manifest of 300,000 rows answers in 17 ms, with one group in 300 ms.
WRITER = WriterProperties(compression="SNAPPY", max_row_group_size=5_000)
_BATCH_BYTES = 256 * 1024  # on disk; a scan reads several batches ahead
_BATCH_ROWS = 32_768
_LONGEST_BOUND = 64  # bytes of a text in the statistics of a file
_MUTEXES: dict[str, threading.RLock] = {}
_MUTEXES_LOCK = threading.Lock()


def mutex(path: str) -> threading.RLock:
    """The lock of a table inside this process; append, Spark append, compaction and fold take it."""
    with _MUTEXES_LOCK:
        return _MUTEXES.setdefault(path, threading.RLock())


def table(path: str, version: int | None = None) -> DeltaTable:
    """The table at a path, at its last version by default. Raises Refused when it does not exist or is damaged."""
    try:
        with damage.naming_damage(path):
            opened = DeltaTable(uri(path), version=version, storage_options=delta_options(path))
    except TableNotFoundError:
        damage.require_log_not_lost(path)
        raise Refused("the table does not exist", where=path, fix="see `lk status`") from None
    if path.startswith("/") and version is None:  # a write to an object store is there as a whole, or not at all
        damage.require_whole_log(path, opened)
    return opened


def exists(path: str) -> bool:
    """Whether there is a table at a path."""
    return bool(DeltaTable.is_deltatable(uri(path), delta_options(path)))


def create(
    path: str, schema: pa.Schema, *, log_retention: str | None = None, checkpoint_every: int | None = None
) -> None:
    """Creates the table unless it exists. Raises Refused when it exists and lacks a column, or has one of another type.

    A column that only a newer program knows stays, null in the rows that this one writes.
    ``log_retention``, such as ``interval 1 hours``, is also the retention of deleted files; None is Delta's default.
    ``checkpoint_every`` is a number of commits; only writers with the checkpoint hook obey it.
    """
    configuration = statistics(schema) | (_retention(log_retention) if log_retention else {})
    if checkpoint_every:
        configuration["delta.checkpointInterval"] = str(checkpoint_every)
    with mutex(path):
        options = delta_options(path)
        is_new = not exists(path)
        if is_new:
            damage.require_log_not_lost(path)
        DeltaTable.create(uri(path), schema, mode="ignore", configuration=configuration, storage_options=options)
        if is_new and path.startswith("/"):  # no later commit has the columns: nothing could replace this entry
            files.sync([Path(path, delta_log.entry(0)), Path(path, delta_log.FOLDER), Path(path)])
        stored = pa.schema(table(path).schema().to_arrow())
    has = comparable_schema(stored)
    lacks = [f"{name} {kind}" for name, kind in comparable_schema(schema) if (name, kind) not in has]
    if lacks:
        raise Refused(
            f"the table has other columns: it lacks {', '.join(lacks)}, and has {has}",
            where=path,
            fix="a changed definition needs a new run or build",
        )


def write_new(path: str, rows: pa.Table) -> None:
    """Creates a table that is written once, with these rows as its first version. Fails when there is one."""
    # Large row groups, as a reader of a build reads most of its rows; and no whole text of a megabyte in the log.
    writer = WriterProperties(compression="SNAPPY", statistics_truncate_length=_LONGEST_BOUND)
    write_deltalake(
        uri(path),
        rows,
        mode="error",
        configuration=statistics(rows.schema),
        storage_options=delta_options(path),
        writer_properties=writer,
    )


def statistics(schema: pa.Schema) -> dict[str, str]:
    """The property of a new table that keeps bounds out of its log that would not be exact."""
    return {"delta.dataSkippingStatsColumns": ",".join(bounded_columns(schema))}


def set_retention(path: str, log_retention: str) -> None:
    """Changes the retention of an existing table if it has another one; ``log_retention`` as in ``create``."""
    with mutex(path):
        opened = table(path)
        if _retention(log_retention).items() - opened.metadata().configuration.items():
            opened.alter.set_table_properties(_retention(log_retention), post_commithook_properties=HOOKS)
            checksums.record(path, opened.version())


def _retention(log_retention: str) -> dict[str, str]:
    return {"delta.logRetentionDuration": log_retention, "delta.deletedFileRetentionDuration": log_retention}


def add_missing_columns(path: str, schema: pa.Schema) -> None:
    """Adds the columns that an older program did not declare, null in the rows that it wrote."""
    with mutex(path):
        opened = table(path)
        stored = {field.name for field in opened.schema().fields}
        missing = [field for field in Schema.from_arrow(schema).fields if field.name not in stored]
        if missing:
            opened.alter.add_columns(missing, post_commithook_properties=HOOKS)


def read(
    path: str,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    version: int | None = None,
) -> pa.Table:
    """Rows as Arrow, with pyarrow's ``filters``. Raises Refused when the table does not exist or is damaged."""
    return read_opened(table(path, version), columns, filters)


def read_opened(opened: DeltaTable, columns: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
    """Rows of an open table as Arrow, read through Arrow's own file system.

    The file system of delta-rs is Python code: an Arrow thread that closes a file in it while the interpreter shuts
    down would abort the process.
    """
    where = filters_to_expression(filters) if isinstance(filters, list) else filters
    return rows_in(opened, dataset(opened, arrow_dataset.compared(opened, where)), columns, where)


def dataset(opened: DeltaTable, by: Iterable[str]) -> Any:
    """An open table for several reads with ``rows_in``: Arrow reads the end of each of its files once.

    Files without a row that a condition on the columns ``by`` asks for are not read.
    """
    with damage.naming_damage(_path(opened)):
        return arrow_dataset.dataset(opened, _filesystem(opened), by)


def rows_in(opened: DeltaTable, arrow_dataset: Any, columns: Sequence[str] | None, filters: Any) -> pa.Table:
    """Rows of the ``dataset`` of an open table."""
    with damage.naming_damage(_path(opened)):
        rows: pa.Table = arrow_dataset.to_table(columns=list(columns) if columns else None, filter=filters)
        return rows


def batches(path: str, columns: Sequence[str], filters: Any) -> Iterator[pa.RecordBatch]:
    """The rows that pass ``filters``, a few at a time."""
    return batches_of(table(path), columns, filters)


def batches_one_by_one(path: str, columns: Sequence[str], filters: Any) -> Iterator[pa.RecordBatch]:
    """The rows that pass ``filters``, for a reader that may stop early: else Arrow reads ahead in four files."""
    return batches_of(table(path), columns, filters, batch_readahead=1, fragment_readahead=1)


def batches_of(opened: DeltaTable, columns: Sequence[str], filters: Any, **ahead: int) -> Iterator[pa.RecordBatch]:
    """The rows of an open table that pass ``filters``, a few at a time; ``ahead`` as Arrow's scanner has it."""
    with damage.naming_damage(_path(opened)):
        rows = arrow_dataset.dataset(opened, _filesystem(opened), arrow_dataset.compared(opened, filters))
        adds = pa.table(opened.get_add_actions())
        sizes = zip(adds["size_bytes"].to_pylist(), adds["num_records"].to_pylist(), strict=True)
        batch_size = rows_at_once(sizes)
        yield from rows.to_batches(columns=list(columns), filter=filters, batch_size=batch_size, **ahead)


def rows_at_once(sizes: Iterable[tuple[int, int | None]]) -> int:
    """The rows of a batch, so that its memory is bounded, from the bytes and the rows of each file."""
    # A batch is of one file, so that small files, of whose bytes the footer is a large part, need no bound.
    large = [rows * _BATCH_BYTES // size for size, rows in sizes if rows and size > _BATCH_BYTES]
    return max(1, min([_BATCH_ROWS, *large]))


def require_whole(path: str) -> None:
    """Raises Refused when a file that a reader of the table needs is missing, empty or cut short."""
    opened = table(path)
    damage.require_whole_log(path, opened)
    damage.require_files(path, delta_log.live_files(opened))


def version(path: str) -> int:
    """The last version of the table."""
    return int(table(path).version())


def row_count(path: str) -> int:
    """The number of rows, from the statistics in the Delta log."""
    return sum(pa.table(table(path).get_add_actions()).column("num_records").to_pylist())


def _path(opened: DeltaTable) -> str:
    return str(opened.table_uri).removeprefix("file://").replace("s3://", SCHEME, 1).rstrip("/")


def _filesystem(opened: DeltaTable) -> SubTreeFileSystem:
    file_system, root = files.filesystem(_path(opened))
    return SubTreeFileSystem(root, file_system)
