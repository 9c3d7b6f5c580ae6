"""Sums of a column: of all rows or of some epochs, with the sums of files that an earlier call kept."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from core.errors import Refused
from infra.lake import compaction, delta, idempotent_writes, row_sums
from infra.lake.row_sums import Epochs
from infra.settings import Settings

SCHEMA = pa.schema([("_rows", pa.int64()), ("first_epoch", pa.int64()), ("last_epoch", pa.int64())])
FILES = [[(1, 0, 0)], [(10, 1, 1), (20, 1, 1)], [(100, 2, 5), (200, 6, 6)], [(1_000, 7, 7)]]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Four files; the rows of the third are of epochs 2 to 5 and 6."""
    path = str(tmp_path / "table")
    delta.create(path, SCHEMA)
    for version, rows in enumerate(FILES):
        columns = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
        idempotent_writes.append_once(path, pa.table(columns, schema=SCHEMA), "test", version)
    return path


def total(path: str, epochs: Epochs | None) -> int:
    return row_sums.sums_of_files(path, "_rows", epochs, {})[0]


def test_the_rows_of_all_epochs_and_of_some_are_summed(path: str) -> None:
    assert total(path, None) == 1_331
    assert total(path, Epochs(-2, 7)) == 1_331
    assert total(path, Epochs(0, 6)) == 330
    assert total(path, Epochs(0, 5)) == 130
    assert total(path, Epochs(1, 5)) == 100
    assert total(path, Epochs(2, 6)) == 200  # the row of epochs 2 to 5 is not within
    assert total(path, Epochs(7, 9)) == 0


def test_a_kept_sum_is_taken_and_a_file_that_counts_in_part_is_read(path: str) -> None:
    _, sums = row_sums.sums_of_files(path, "_rows", Epochs(0, 5), {})
    assert list(sums.values()) == [30]
    planted = dict.fromkeys(sums, 30_000)
    assert row_sums.sums_of_files(path, "_rows", Epochs(0, 5), planted) == (30_100, planted)


@pytest.mark.parametrize("harm", ["remove", "cut"])
def test_a_file_that_is_not_whole_is_refused_also_if_its_sum_was_kept(path: str, harm: str) -> None:
    _, sums = row_sums.sums_of_files(path, "_rows", None, {})
    file = Path(path) / next(iter(sums))
    if harm == "remove":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(Refused, match="a file of the lake") as refused:
        row_sums.sums_of_files(path, "_rows", None, sums)
    assert refused.value.where == str(file)


def test_sums_of_replaced_files_are_not_kept(path: str) -> None:
    _, before = row_sums.sums_of_files(path, "_rows", None, {})
    assert sorted(before.values()) == [1, 30, 300, 1_000]
    compaction.compact(path)
    rows, after = row_sums.sums_of_files(path, "_rows", None, before)
    assert (rows, list(after.values())) == (1_331, [1_331])


def test_kept_sums_are_those_of_the_last_call_and_a_damaged_file_gives_none(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    assert row_sums.read_kept(settings) == {}
    row_sums.keep(settings, {"/lake/a": {"one.parquet": 7}})
    row_sums.keep(settings, {"/lake/b": {"two.parquet": 8}})
    assert row_sums.read_kept(settings) == {"/lake/b": {"two.parquet": 8}}
    (file,) = settings.run_dir.glob("row-sums*")
    for damaged in ("", "{", "[1]", '{"/lake/b": 3}', '{"/lake/b": {"two.parquet": "x"}}'):
        file.write_text(damaged)
        assert row_sums.read_kept(settings) == {}, damaged
