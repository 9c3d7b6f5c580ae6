"""The data files of a Delta table for Arrow, which skips those that can hold no row that is asked for.

A file is skipped by the bounds that the Delta log has of its columns. delta-rs hands Arrow the bounds of every column,
also those that a file lacks: as null, which Arrow takes for bounds within which no value is. It would skip a file with
long texts, decimals or times after the year 9999. So only some columns are handed over: those that are asked for, of
types whose bounds are exact, and of which every file has bounds. It saves most of the time, too: delta-rs makes several
expressions for each column of each file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
from deltalake import DeltaTable

from infra.lake.arrow_types import bounded_columns


def dataset(opened: DeltaTable, file_system: pyarrow.fs.FileSystem, by: Iterable[str]) -> Any:
    """The files of an open table, for reads whose conditions compare the columns ``by``."""
    schema = pa.schema(opened.schema().to_arrow())
    partitioned, exact = opened.metadata().partition_columns, {*by}.intersection(bounded_columns(schema))
    names = {*partitioned, *(_bounded(opened, exact) if exact else ())}
    bounds = pa.schema([field for field in schema if field.name in names])
    files = opened.to_pyarrow_dataset(filesystem=file_system, schema=bounds)
    return pyarrow.dataset.FileSystemDataset(list(files.get_fragments()), schema, files.format, file_system)


def compared(opened: DeltaTable, condition: Any) -> tuple[str, ...]:
    """The columns that a condition names, and perhaps more; none without a condition."""
    text = "" if condition is None else str(condition)  # Arrow does not tell its columns in another way
    return tuple(field.name for field in opened.schema().fields if field.name in text)


def _bounded(opened: DeltaTable, names: Iterable[str]) -> list[str]:
    """The columns of which every file has bounds."""
    files = pa.table(opened.get_add_actions(flatten=True))
    ends = {name: (f"min.{name}", f"max.{name}") for name in names}
    return [name for name, columns in ends.items() if all(_is_full(files, column) for column in columns)]


def _is_full(files: pa.Table, column: str) -> bool:
    return column in files.column_names and files[column].null_count == 0
