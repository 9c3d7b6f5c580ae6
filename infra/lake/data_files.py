"""The data files of a Delta table: what the log says of them, which hold a value, and files that replace others.

A replacement is prepared outside of the table's mutex: its files belong to no version of the table until the commit.
Vacuum deletes those of a writer that was killed before.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial, reduce
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from core.errors import RESUME_RUN, TryAgain
from infra import clock
from infra.lake import checksums, damage, delta, files, idempotent_writes
from infra.lake.fence import Fence

MIN, MAX = -(2**63), 2**63 - 1
_BATCH_BYTES = 1024 * 1024
_COMPARED = 50  # values; Arrow compares a longer list with no statistics
_THREADS = 16  # that read footers, as a store answers slowly
_FILES = 64  # whose footers are in memory at once, each of some hundred KB
_GROUP_ROWS, _GROUP_BYTES = 1_000, 1024 * 1024  # the most of a row group: a reader of one value decodes one


@dataclass(frozen=True)
class DataFile:
    """A live data file, with its smallest and largest value of one bigint column; ``size`` is bytes on disk."""

    path: str
    size: int
    rows: int
    low: int
    high: int


def live_files(opened: DeltaTable, column: str) -> list[DataFile]:
    """The files of a version. One without statistics may hold any value."""
    adds = pa.table(opened.get_add_actions(flatten=True))
    lows, highs = (_values(adds, f"{end}.{column}") for end in ("min", "max"))
    names = ("path", "size_bytes", "num_records")
    rows = zip(*(adds[name].to_pylist() for name in names), lows, highs, strict=True)
    return [
        DataFile(path, size, count or 0, MIN if low is None else low, MAX if high is None else high)
        for path, size, count, low, high in rows
    ]


def holding(live: Sequence[DataFile], values: Sequence[int]) -> list[tuple[DataFile, Sequence[int]]]:
    """The files that may hold some of the sorted ``values``, each with these."""
    within = [values[bisect_left(values, file.low) : bisect_right(values, file.high)] for file in live]
    return [(file, values_within) for file, values_within in zip(live, within, strict=True) if values_within]


def batches_holding(
    path: str, column: str, values: Sequence[int], columns: Sequence[str], condition: pc.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows that have one of the sorted ``values`` in a bigint column and pass ``condition``, a few at a time.

    Files and row groups without one of them, by their statistics, are not read.
    """
    opened = delta.table(path)
    holders = holding(live_files(opened, column), values)
    if not holders:
        return
    file_system, root = files.filesystem(path)
    schema, parquet = pa.schema(opened.schema().to_arrow()), pyarrow.dataset.ParquetFileFormat()
    select = partial(_row_groups, parquet, file_system, root, schema, column)
    is_one = pc.field(column).isin(pa.array(values, pa.int64()))
    passing = is_one if condition is None else is_one & condition
    batch_rows = delta.rows_at_once((file.size, file.rows) for file, _ in holders)
    with damage.naming_damage(path), ThreadPoolExecutor(_THREADS) as pool:
        for start in range(0, len(holders), _FILES):
            fragments = [part for part in pool.map(select, holders[start : start + _FILES]) if part.row_groups]
            rows = pyarrow.dataset.FileSystemDataset(fragments, schema, parquet, file_system)
            yield from rows.to_batches(columns=list(columns), filter=passing, batch_size=batch_rows)


def count_between(path: str, column: str, first: int, last: int) -> int:
    """The number of rows whose bigint column is from ``first`` to ``last``; only files that are partly so are read."""
    opened = delta.table(path)
    overlapping = [file for file in live_files(opened, column) if file.low <= last and file.high >= first]
    partly = [file for file in overlapping if file.low < first or file.high > last]
    counted = sum(file.rows for file in overlapping) - sum(file.rows for file in partly)
    file_system, root = files.filesystem(path)
    parquet, value = pyarrow.dataset.ParquetFileFormat(), pc.field(column)
    schema = pa.schema(opened.schema().to_arrow())
    for start in range(0, len(partly), _FILES):
        paths = [f"{root}/{file.path}" for file in partly[start : start + _FILES]]
        fragments = [parquet.make_fragment(part, file_system) for part in paths]
        rows = pyarrow.dataset.FileSystemDataset(fragments, schema, parquet, file_system)
        counted += rows.count_rows(filter=(value >= first) & (value <= last))
    return counted


def estimated_bytes(path: str, file: DataFile) -> int:
    """About the bytes that all rows of a file take in memory, from its footer."""
    with _open(path, file) as opened:
        return _memory(opened)


def read_batches(path: str, file: DataFile, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a file, about ``_BATCH_BYTES`` at a time."""
    with _open(path, file) as opened:
        row_bytes = _memory(opened) // max(1, opened.metadata.num_rows)
        for batch in opened.iter_batches(max(1, _BATCH_BYTES // max(1, row_bytes)), columns=schema.names):
            yield pa.Table.from_batches([batch]).select(schema.names).cast(schema)


def write(path: str, rows: pa.Table, counted: Sequence[str]) -> AddAction:
    """Writes rows, which are not empty, into a new file, with statistics of the columns ``counted``."""
    name = f"part-{uuid4()}.parquet"
    file_system, root = files.filesystem(path)
    group = max(1, min(_GROUP_ROWS, _GROUP_BYTES * rows.num_rows // max(1, rows.nbytes)))
    pq.write_table(
        rows,
        f"{root}/{name}",
        filesystem=file_system,
        row_group_size=group,
        compression="snappy",
        use_dictionary=list(counted),
        write_statistics=list(counted),
    )
    bounds = {column: pc.min_max(rows[column]).as_py() for column in counted}
    stats = {
        "numRecords": rows.num_rows,
        "minValues": {column: values["min"] for column, values in bounds.items()},
        "maxValues": {column: values["max"] for column, values in bounds.items()},
        "nullCount": {column: rows[column].null_count for column in counted},
    }
    size = file_system.get_file_info(f"{root}/{name}").size
    return AddAction(name, size, {}, clock.now_ms(), data_change=False, stats=json.dumps(stats))


def replace(path: str, removed: Sequence[DataFile], added: Sequence[AddAction], lease: Fence) -> None:
    """Commits files that hold the rows of others in place of these, in one version.

    Raises TryAgain, without a commit, when another process has taken over the lease or removed one of the files, and
    Refused when one of these is damaged.
    """
    damage.require_content(path, [file.path for file in removed])
    with delta.mutex(path), idempotent_writes.conflicts(path):
        opened = delta.table(path)
        txns = idempotent_writes.fence_txns(lease, opened)
        live = set(pa.table(opened.get_add_actions()).column("path").to_pylist())
        if not live.issuperset(file.path for file in removed):
            raise TryAgain("another process replaced the same files", where=path, fix=f"run {RESUME_RUN}")
        now = clock.now_ms()
        opened.create_write_transaction(
            [*(RemoveAction(file.path, False, now, file.size, {}) for file in removed), *added],
            mode="append",
            schema=opened.schema(),
            commit_properties=CommitProperties(app_transactions=txns),
            post_commithook_properties=delta.HOOKS,
        )
        opened.update_incremental()
    checksums.record(path, int(opened.version()))


def _row_groups(
    parquet: pyarrow.dataset.ParquetFileFormat,
    file_system: pyarrow.fs.FileSystem,
    root: str,
    schema: pa.Schema,
    column: str,
    held: tuple[DataFile, Sequence[int]],
) -> pyarrow.dataset.ParquetFileFragment:
    """The row groups of a file that may hold some of the values."""
    file, values = held
    parts = [pa.array(values[n : n + _COMPARED], pa.int64()) for n in range(0, len(values), _COMPARED)]
    any_of = reduce(lambda a, b: a | b, (pc.field(column).isin(part) for part in parts))
    return parquet.make_fragment(f"{root}/{file.path}", file_system).subset(any_of, schema=schema)


def _values(adds: pa.Table, name: str) -> list[int | None]:
    return adds[name].to_pylist() if name in adds.column_names else [None] * adds.num_rows


def _open(path: str, file: DataFile) -> pq.ParquetFile:
    file_system, root = files.filesystem(path)
    return pq.ParquetFile(f"{root}/{file.path}", filesystem=file_system)


def _memory(opened: pq.ParquetFile) -> int:
    return sum(opened.metadata.row_group(n).total_byte_size for n in range(opened.num_row_groups))
