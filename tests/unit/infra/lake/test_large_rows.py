"""Rows with large values: those that pass come whole and once, and the values of others are not read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from core.errors import Refused
from infra.lake import delta, idempotent_writes, large_rows

SCHEMA = pa.schema([("number", pa.int64()), ("value", pa.binary())])
ROWS = 1_000  # several of the batches in which values are read


def table(tmp_path: Path, *files: list[int]) -> str:
    """A table with a file for each list of numbers; the value of a number is its digits."""
    path = str(tmp_path / "large")
    delta.create(path, SCHEMA)
    for version, numbers in enumerate(files):
        rows = pa.table({"number": numbers, "value": [str(n).encode() for n in numbers]}, SCHEMA)
        idempotent_writes.append_once(path, rows, "test", version)
    return path


@pytest.mark.parametrize("chosen", [[0], [ROWS - 1], [255, 256, 257, 700], [0, 511, 512, ROWS - 1], [], range(ROWS)])
def test_rows_that_pass_come_whole_and_once(tmp_path: Path, chosen: list[int]) -> None:
    path = table(tmp_path, [*reversed(range(ROWS))])
    where = pc.field("number").isin(pa.array(chosen, pa.int64()))
    rows = list(large_rows.rows(path, ["number"], ["value"], where))
    assert rows == [{"number": n, "value": str(n).encode()} for n in reversed(chosen)]


def test_values_of_a_row_group_without_such_rows_are_not_read(tmp_path: Path) -> None:
    """Its statistics do not tell that it has none. A planted damage of its values proves it."""
    path = table(tmp_path, [*range(10)], [n for n in range(11) if n != 5])
    damaged = next(file for file in map(Path, delta.table(path).file_uris()) if 10 in numbers_of(file))
    content, chunk = bytearray(damaged.read_bytes()), pq.ParquetFile(damaged).metadata.row_group(0).column(1)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    damaged.write_bytes(content)
    assert list(large_rows.rows(path, ["number"], ["value"], pc.field("number") == 5)) == [{"number": 5, "value": b"5"}]
    with pytest.raises(Refused, match="damaged"):
        list(large_rows.rows(path, ["number"], ["value"], pc.field("number") == 10))


def test_rows_of_files_without_the_partition_column_have_its_value_from_the_log(tmp_path: Path) -> None:
    """delta-rs writes data files without partition columns, as Delta's protocol has it."""
    path = str(tmp_path / "parted")
    write_deltalake(path, pa.table({"number": [1, 2, 3], "value": [b"a", b"b", b"c"]}, SCHEMA), partition_by=["number"])
    (first, *_) = delta.table(path).file_uris()
    assert pq.ParquetFile(first).schema_arrow.names == ["value"]
    rows = list(large_rows.rows(path, ["number"], ["value"], pc.field("number") >= 2))
    assert sorted(rows, key=lambda row: row["number"]) == [{"number": 2, "value": b"b"}, {"number": 3, "value": b"c"}]


def numbers_of(file: Path) -> list[int]:
    numbers: list[int] = pq.read_table(file, columns=["number"])["number"].to_pylist()
    return numbers
