"""Data files of a Delta table: which hold a value, and how many rows lie between two values."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from infra.lake import data_files, delta, idempotent_writes

SCHEMA = pa.schema([("hash", pa.int64()), ("epoch", pa.int64()), ("text", pa.string())])
ROWS = [(hash_, epoch) for epoch in range(20) for hash_ in range(-(2**63), 2**63, 2**59)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Twenty epochs of 32 rows: three in one file each, and the others in one file."""
    path = str(tmp_path / "table")
    delta.create(path, SCHEMA)
    for version, epochs in enumerate([range(3, 20), range(1), range(1, 2), range(2, 3)]):
        rows = [(hash_, epoch, f"{hash_}/{epoch}") for hash_, epoch in ROWS if epoch in epochs]
        columns = [list(column) for column in zip(*rows, strict=True)]
        idempotent_writes.append_once(path, pa.table(columns, schema=SCHEMA), "test", version)
    return path


def test_rows_are_counted_between_two_values(path: str) -> None:
    for first, last in [(-1, 19), (0, 0), (1, 2), (2, 5), (4, 4), (19, 40), (20, 40), (5, 4)]:
        expected = sum(first <= epoch <= last for _, epoch in ROWS)
        assert data_files.count_between(path, "epoch", first, last) == expected, (first, last)


@pytest.mark.parametrize("count", [0, 1, 3, 32])
def test_rows_of_some_values_are_those_of_a_scan(path: str, count: int) -> None:
    values = [7, *sorted({hash_ for hash_, _ in ROWS})[:count]]
    read = [
        (row["hash"], row["epoch"])
        for batch in data_files.batches_holding(path, "hash", sorted(values), ["hash", "epoch"], pc.field("epoch") < 9)
        for row in batch.to_pylist()
    ]
    assert sorted(read) == sorted((hash_, epoch) for hash_, epoch in ROWS if hash_ in values and epoch < 9)


def test_a_file_is_not_read_for_a_value_that_it_cannot_hold(path: str) -> None:
    files = data_files.live_files(delta.table(path), "epoch")
    assert sorted((file.low, file.high, file.rows) for file in files) == [
        (0, 0, 32),
        (1, 1, 32),
        (2, 2, 32),
        (3, 19, 17 * 32),
    ]
    holding = data_files.holding(files, [1, 4, 7, 25])
    assert sorted((file.low, list(values)) for file, values in holding) == [(1, [1]), (3, [4, 7])]


def test_a_batch_has_fewer_rows_where_rows_are_large() -> None:
    kib = 1024
    assert delta.rows_at_once([]) == 32_768
    assert delta.rows_at_once([(10 * kib, 1), (8_000 * kib, 200_000)]) == 6_400
    assert delta.rows_at_once([(8_000 * kib, 200_000), (64_000 * kib, 64)]) == 1
    assert delta.rows_at_once([(8_000 * kib, None), (300 * kib, 1_000_000)]) == 32_768
