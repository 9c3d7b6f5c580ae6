"""Rows whose values may be large, a few at a time: Arrow's scanner would hold all rows of a row group at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq

from infra.lake import arrow_dataset, damage, delta, files

_BATCH_ROWS = 256
_BATCH_BYTES = 4 * 1024 * 1024
_ROWS = 16  # in Python at once
_BUFFER = 1024 * 1024  # bytes of a column that are read at once
_POSITION = "__position"


@dataclass(frozen=True)
class _File:
    """A data file with the values of the table's partition columns, which its rows may lack."""

    path: str
    declared: pa.Schema
    partition_values: Mapping[str, Any]

    def encoded(self, columns: Sequence[str]) -> pa.Schema:
        """The columns, with bytes as dictionaries: equal values, of which a file has few bytes, are in memory once."""
        encoded = pa.dictionary(pa.int32(), pa.binary())
        fields = [self.declared.field(name) for name in columns]
        return pa.schema([field.with_type(encoded) if pa.types.is_binary(field.type) else field for field in fields])

    def completed(self, rows: pa.Table, schema: pa.Schema) -> pa.Table:
        """Rows of this file with the columns of ``schema``."""
        for name, value in self.partition_values.items():
            if name in schema.names and name not in rows.column_names:
                column = pa.repeat(pa.scalar(value).cast(schema.field(name).type), rows.num_rows)
                rows = rows.append_column(name, column)
        return rows.select(schema.names).cast(schema)


def rows(path: str, compared: Sequence[str], large: Sequence[str], where: pc.Expression) -> Iterator[dict[str, Any]]:
    """The rows that pass ``where``, which compares small columns, with these and the ``large`` ones.

    Row groups without such rows, by their statistics, are not read. Of the others, the compared columns are read first:
    the large values of a row group without such rows are not read, nor those after its last one.
    """
    opened = delta.table(path)
    declared, partition_columns = pa.schema(opened.schema().to_arrow()), opened.metadata().partition_columns
    file_system, root = files.filesystem(path)
    within = pa.fs.SubTreeFileSystem(root, file_system)
    with damage.naming_damage(path):
        files_of_table = arrow_dataset.dataset(opened, within, arrow_dataset.compared(opened, where))
        for fragment in files_of_table.get_fragments(filter=where):
            groups = [group.id for group in fragment.subset(where, schema=declared).row_groups]
            values = pyarrow.dataset.get_partition_keys(fragment.partition_expression)
            file = _File(fragment.path, declared, {name: values[name] for name in partition_columns})
            for passing in _passing(within, file, groups, compared, [*compared, *large], where):
                for start in range(0, passing.num_rows, _ROWS):
                    yield from passing.slice(start, _ROWS).to_pylist()


def _passing(
    file_system: pa.fs.FileSystem,
    file: _File,
    groups: Sequence[int],
    compared: Sequence[str],
    columns: Sequence[str],
    where: pc.Expression,
) -> Iterator[pa.Table]:
    """The rows of some row groups that pass."""
    if not groups:
        return
    small, schema = file.encoded(compared), file.encoded(columns)
    encoded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    options = {"pre_buffer": False, "buffer_size": _BUFFER, "read_dictionary": encoded}
    with pq.ParquetFile(file.path, filesystem=file_system, **options) as opened:
        for group in groups:
            positions = _positions(file.completed(opened.read_row_group(group, columns=compared), small), where)
            first = 0
            for batch in _batches(opened, group, schema) if len(positions) else ():
                after = first + batch.num_rows
                inside = positions[np.searchsorted(positions, first) : np.searchsorted(positions, after)]
                if len(inside):
                    passing = batch.take(pa.array(inside - first))
                    yield file.completed(pa.Table.from_batches([passing]), schema)
                first = after
                if first > positions[-1]:
                    break


def _positions(small: pa.Table, where: pc.Expression) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The positions in a row group of the rows that pass, ascending."""
    numbered = small.append_column(_POSITION, pa.array(np.arange(small.num_rows)))
    positions: np.ndarray[Any, np.dtype[np.int64]] = numbered.filter(where)[_POSITION].to_numpy()
    return positions


def _batches(opened: pq.ParquetFile, group: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    metadata = opened.metadata.row_group(group)
    row_bytes = metadata.total_byte_size // max(1, metadata.num_rows)
    size = max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, row_bytes)))
    yield from opened.iter_batches(size, row_groups=[group], columns=schema.names)
