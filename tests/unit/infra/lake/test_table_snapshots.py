"""A snapshot is read again only while its table has no other commit."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from core.errors import Refused
from infra.lake import delta, delta_log, table_snapshots

ROWS = pa.schema({"number": pa.int64()})


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "table")
    delta.create(made, ROWS)
    append(made, 1)
    return made


def append(path: str, number: int) -> None:
    write_deltalake(path, pa.table({"number": [number]}), mode="append")


def numbers(path: str) -> list[int]:
    snapshot = table_snapshots.current(path)
    return sorted(snapshot.rows(["number"])["number"].to_pylist()) if snapshot else []


def test_a_table_without_a_new_commit_is_opened_once(path: str) -> None:
    assert numbers(path) == [1]
    assert table_snapshots.current(path) is table_snapshots.current(path)


def test_the_next_commit_is_read(path: str) -> None:
    assert numbers(path) == [1]
    append(path, 2)
    assert numbers(path) == [1, 2]


def test_an_older_copy_and_another_table_at_the_same_path_are_read(path: str, tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(path, older)
    append(path, 2)
    assert numbers(path) == [1, 2]
    shutil.rmtree(path)
    shutil.copytree(older, path)
    assert numbers(path) == [1]
    shutil.rmtree(path)
    assert numbers(path) == []
    delta.create(path, ROWS)
    append(path, 3)
    assert numbers(path) == [3]


def test_a_log_that_was_cut_to_its_checkpoint_is_opened_each_time(path: str) -> None:
    delta.table(path).create_checkpoint()
    for version in (0, 1):
        Path(path, delta_log.entry(version)).unlink()
    assert numbers(path) == [1]
    assert table_snapshots.current(path) is not table_snapshots.current(path)


def test_a_damaged_last_commit_is_refused_by_name(path: str) -> None:
    assert numbers(path) == [1]
    Path(path, delta_log.entry(1)).write_bytes(b"")
    with pytest.raises(Refused, match="is empty"):
        numbers(path)
