"""Rows whose values may be large, a few at a time: Arrow's scanner would hold all rows of a row group at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq

from infra.lake import damage, delta, files

_BATCH_ROWS = 256
_BATCH_BYTES = 4 * 1024 * 1024
_ROWS = 16  # in Python at once
_BUFFER = 1024 * 1024  # bytes of a column that are read at once


def rows(path: str, columns: Sequence[str], where: pc.Expression) -> Iterator[dict[str, Any]]:
    """The rows that pass ``where``; ``columns`` has all columns that it compares.

    Row groups without such rows, by their statistics, are not read.
    """
    opened = delta.table(path)
    declared = pa.schema(opened.schema().to_arrow())
    file_system, root = files.filesystem(path)
    within = pa.fs.SubTreeFileSystem(root, file_system)
    with damage.named(path):
        for fragment in opened.to_pyarrow_dataset(filesystem=within).get_fragments(filter=where):
            groups = [group.id for group in fragment.subset(where, schema=declared).row_groups]
            schema = _encoded(declared, columns)
            for batch in _batches(within, fragment.path, groups, schema):
                passing = batch.select(columns).cast(schema).filter(where)
                for start in range(0, passing.num_rows, _ROWS):
                    yield from passing.slice(start, _ROWS).to_pylist()


def _encoded(declared: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """The columns, with bytes as dictionaries: equal values, of which a file has few bytes, are in memory once."""
    fields = [declared.field(name) for name in columns]
    encoded = pa.dictionary(pa.int32(), pa.binary())
    return pa.schema([field.with_type(encoded) if pa.types.is_binary(field.type) else field for field in fields])


def _batches(
    file_system: pa.fs.FileSystem, file: str, groups: Sequence[int], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    if not groups:
        return
    encoded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    options = {"pre_buffer": False, "buffer_size": _BUFFER, "read_dictionary": encoded}
    with pq.ParquetFile(file, filesystem=file_system, **options) as opened:
        of_groups = [opened.metadata.row_group(n) for n in groups]
        count = sum(group.num_rows for group in of_groups)
        row_bytes = sum(group.total_byte_size for group in of_groups) // max(1, count)
        size = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, row_bytes)))
        yield from opened.iter_batches(size, row_groups=list(groups), columns=schema.names)
