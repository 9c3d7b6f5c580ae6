"""Commits that the project writes itself: each append once, fenced, on top of whatever others commit meanwhile."""

import errno
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures

from core.errors import TryAgain
from core.identifiers import Name
from core.measures import Column
from infra.lake import checksums, compaction, damage, delta, delta_log, idempotent_writes, log_entries
from infra.lake.appended_table import AppendedTable
from infra.lake.arrow_types import arrow_schema
from infra.lake.fence import Fence
from infra.project_files import ROOT

SCHEMA = arrow_schema(
    [
        Column("key", "string"),
        Column("at", "timestamp"),
        Column("day", "date"),
        Column("amount", "decimal(38,2)"),
        Column("share", "double"),
        Column("headers", "array<struct<key:string,value:binary>>"),
        Column("epoch", "bigint"),
    ]
)
LEASE = Fence(Name("run_r1"), 3)
ROW = {
    "key": "k",
    "at": datetime(2026, 11, 29, 10, 0, 0, 123_456, UTC),
    "day": date(2026, 11, 29),
    "amount": Decimal("99999999999999999999999999999999999.99"),
    "share": 0.5,
    "headers": [{"key": "h", "value": b"\x00"}],
}


def rows(*epochs: int, **changed: object) -> pa.Table:
    return pa.Table.from_pylist([{**ROW, **changed, "epoch": epoch} for epoch in epochs], schema=SCHEMA)


def epochs(path: str) -> list[int]:
    return sorted(delta.read(path, ["epoch"])["epoch"].to_pylist())


def stats(path: str) -> dict[str, object]:
    content = Path(path, delta_log.entry(delta.version(path))).read_bytes()
    (add,) = [action["add"] for action in map(json.loads, content.splitlines()) if "add" in action]
    parsed: dict[str, object] = json.loads(add["stats"])
    return parsed


@pytest.fixture
def path(tmp_path: Path) -> str:
    place = str(tmp_path / "table")
    delta.create(place, SCHEMA, log_retention="interval 1 hours")
    return place


def test_a_row_is_read_as_it_was_appended(path: str) -> None:
    assert AppendedTable(path).append_once(rows(1), "a", 1, LEASE) == 1
    assert delta.read(path).schema.types == SCHEMA.types
    assert delta.read(path).to_pylist() == [{**ROW, "epoch": 1}]
    assert delta.table(path).transaction_version("a") == 1
    assert delta.table(path).transaction_version("lease/run_r1") == 3


def test_an_append_is_skipped_when_it_was_committed_before_also_by_another_object(path: str) -> None:
    first, second = AppendedTable(path), AppendedTable(path)
    assert first.append_once(rows(7), "a", 7, LEASE) == 1
    assert first.append_once(rows(7), "a", 7, LEASE) is None
    assert second.append_once(rows(7), "a", 7, LEASE) is None
    assert second.append_once(rows(6), "a", 6, LEASE) is None
    assert second.append_once(rows(7), "b", 7, LEASE) == 2
    assert epochs(path) == [7, 7]


def test_an_append_comes_after_what_others_committed_meanwhile(path: str) -> None:
    opened = AppendedTable(path)
    for epoch in range(3):
        opened.append_once(rows(epoch), "a", epoch, LEASE)
    compaction.compact(path)  # removes the three files
    idempotent_writes.append_once(path, rows(100), "other", 1)
    assert opened.append_once(rows(3), "a", 3, LEASE) == 6
    assert opened.version() == delta.version(path) == 6
    assert epochs(path) == [0, 1, 2, 3, 100]


def test_a_commit_whose_version_exists_is_tried_with_the_next_one(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = AppendedTable(path)
    commit = log_entries.commit
    lost: list[bool] = []

    def raced(path: str, version: int, *more: object) -> bool:
        if not lost:  # another process commits between the look at the log and the commit
            idempotent_writes.append_once(path, rows(100), "other", 1)
        committed = commit(path, version, *more)  # type: ignore[arg-type]
        lost.append(not committed)
        return committed

    monkeypatch.setattr(log_entries, "commit", raced)
    assert opened.append_once(rows(1), "a", 1, LEASE) == 2
    assert lost == [True, False]
    assert epochs(path) == [1, 100]
    assert len(list(Path(path).glob("*.parquet"))) == 2  # its file was written once


def test_a_holder_that_was_replaced_appends_nothing(path: str) -> None:
    old, new = AppendedTable(path), AppendedTable(path)
    old.append_once(rows(1), "a", 1, LEASE)
    new.append_once(rows(2), "a", 2, Fence(LEASE.name, 4))
    with pytest.raises(TryAgain, match="lease lost: run_r1"):
        old.append_once(rows(3), "a", 3, LEASE)
    assert epochs(path) == [1, 2]


def test_a_holder_is_refused_also_when_the_entries_of_its_successor_were_deleted(path: str) -> None:
    """The log is shortened after its retention; the version after the known one is free then, but is not the last."""
    old = AppendedTable(path)
    old.append_once(rows(1), "a", 1, LEASE)
    for epoch in range(2, 5):
        AppendedTable(path).append_once(rows(epoch), "a", epoch, Fence(LEASE.name, 4))
    checksums.finish()
    compaction.checkpoint(path)
    for version in range(4):
        Path(path, delta_log.entry(version)).unlink()
    with pytest.raises(TryAgain, match="lease lost: run_r1"):
        old.append_once(rows(9), "a", 9, LEASE)
    assert epochs(path) == [1, 2, 3, 4]
    assert AppendedTable(path).append_once(rows(9), "a", 9, Fence(LEASE.name, 4)) == 5


def test_statistics_bound_integers_times_and_short_texts(path: str) -> None:
    later = {"key": "l", "at": datetime(2026, 11, 30, tzinfo=UTC), "day": date(2026, 12, 1)}
    both = pa.concat_tables([rows(5), rows(7, **later)])
    AppendedTable(path).append_once(both, "a", 1, LEASE)
    assert stats(path) == {
        "numRecords": 2,
        "minValues": {"key": "k", "at": "2026-11-29T10:00:00.123456Z", "day": "2026-11-29", "epoch": 5},
        "maxValues": {"key": "l", "at": "2026-11-30T00:00:00.000000Z", "day": "2026-12-01", "epoch": 7},
        "nullCount": {"key": 0, "at": 0, "day": 0, "epoch": 0},
    }


def test_long_texts_nulls_and_times_beyond_pythons_have_no_statistics(path: str) -> None:
    far = pa.array([400_000_000_000_000_000], pa.timestamp("us", "UTC"))  # in the year 14645
    strange = rows(1, key="k" * 65, day=None)
    strange = strange.set_column(1, "at", far)
    opened = AppendedTable(path)
    opened.append_once(strange, "a", 1, LEASE)
    assert stats(path) == {
        "numRecords": 1,
        "minValues": {"epoch": 1},
        "maxValues": {"epoch": 1},
        "nullCount": {"epoch": 0},
    }
    compaction.checkpoint(path)  # which stores the statistics by column
    assert DeltaTable(path).get_add_actions(flatten=True).num_rows == 1
    assert opened.append_once(rows(2), "a", 2, LEASE) == 2


def test_a_file_read_with_a_filter_on_each_counted_column_finds_its_row(path: str) -> None:
    AppendedTable(path).append_once(rows(1), "a", 1, LEASE)
    compaction.checkpoint(path)
    for column in ("key", "at", "day", "epoch"):
        value = ROW.get(column, 1)
        assert delta.read(path, ["epoch"], filters=[(column, "=", value)]).num_rows == 1, column
        assert delta.read(path, ["epoch"], filters=[(column, ">", value)]).num_rows == 0, column


def test_a_column_of_a_newer_program_is_null(path: str) -> None:
    delta.add_missing_columns(path, SCHEMA.append(pa.field("extra", pa.int64())))
    AppendedTable(path).append_once(rows(1), "a", 1, LEASE)
    assert delta.read(path, ["extra", "epoch"]).to_pylist() == [{"extra": None, "epoch": 1}]


def test_a_table_with_newer_features_is_left_to_delta_rs(path: str) -> None:
    opened = AppendedTable(path)  # before the table has them
    delta.table(path).alter.add_feature(TableFeatures.ChangeDataFeed, allow_protocol_versions_increase=True)
    assert opened.append_once(rows(1), "a", 1, LEASE) == 2
    entry = json.loads(Path(path, delta_log.entry(2)).read_bytes().splitlines()[0])
    assert entry["commitInfo"]["engineInfo"].startswith("delta-rs:")
    assert epochs(path) == [1]


def test_a_commit_has_checksums_and_leaves_no_other_file(path: str) -> None:
    AppendedTable(path).append_once(rows(1), "a", 1, LEASE)
    checksums.finish()
    stored, damaged = checksums.read(path)
    (file,) = Path(path).glob("*.parquet")
    assert stored.keys() == {file.name, delta_log.entry(1)}
    assert not damaged
    assert not damage.scrub(path).damages
    assert sorted(each.name for each in Path(path, delta_log.FOLDER).iterdir()) == [
        "00000000000000000000.json",
        "00000000000000000001.json",
    ]


def test_a_commit_that_fails_on_a_full_disk_leaves_nothing_in_the_log(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: Path, text: str, encoding: str) -> int:
        file.write_bytes(text.encode(encoding)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    opened = AppendedTable(path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space left"):
            opened.append_once(rows(1), "a", 1, LEASE)
    assert [each.name for each in Path(path, delta_log.FOLDER).iterdir()] == ["00000000000000000000.json"]
    assert opened.append_once(rows(1), "a", 1, LEASE) == 1
    assert epochs(path) == [1]


def test_a_commit_into_a_gap_that_others_left_in_the_log_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that stood still for an hour: meanwhile another one committed, and cleaned the log up."""
    paused, commit = AppendedTable(path), log_entries.commit

    def after_an_hour(table: str, version: int, add: dict[str, object], txns: dict[str, int]) -> bool:
        monkeypatch.setattr(log_entries, "commit", commit)
        for epoch in range(1, 4):
            AppendedTable(path).append_once(rows(epoch), "b", epoch, Fence(Name("run_r1"), 4))
        compaction.checkpoint(path)
        for old in range(3):
            Path(path, delta_log.entry(old)).unlink()
        return commit(table, version, add, txns)

    monkeypatch.setattr(log_entries, "commit", after_an_hour)
    with pytest.raises(TryAgain, match="another process has taken over"):
        paused.append_once(rows(9), "a", 9, LEASE)
    assert epochs(path) == [1, 2, 3]


def test_commits_since_the_checkpoint_are_counted_from_the_names_in_the_log(path: str) -> None:
    opened = AppendedTable(path)
    assert compaction.commits_since_checkpoint(path, 5) == 1  # the one that created the table
    compaction.checkpoint(path)
    assert compaction.commits_since_checkpoint(path, 5) == 0
    for epoch in range(3):
        opened.append_once(rows(epoch), "a", epoch, LEASE)
    assert compaction.commits_since_checkpoint(path, 5) == 3
    assert compaction.commits_since_checkpoint(path, 2) == 2
    compaction.compact_and_checkpoint(path, 1024 * 1024, LEASE)
    assert compaction.commits_since_checkpoint(path, 5) == 0
    assert len(DeltaTable(path).file_uris()) == 1
    assert opened.append_once(rows(3), "a", 3, LEASE) == 5
    assert epochs(path) == [0, 1, 2, 3]


_APPENDS = """
import sys
import pyarrow as pa
from core.identifiers import Name
from infra.lake.appended_table import AppendedTable
from infra.lake.fence import Fence
path, app = sys.argv[1:]
table = AppendedTable(path)
for number in range(40):
    rows = pa.table({"epoch": pa.array([number], pa.int64())})
    assert table.append_once(rows, app, number, Fence(Name("run_r1"), 3)) is not None
"""


def test_processes_that_append_at_once_lose_no_row_and_write_none_twice(tmp_path: Path) -> None:
    path = str(tmp_path / "shared")
    delta.create(path, arrow_schema([Column("epoch", "bigint")]))
    argv = [sys.executable, "-c", _APPENDS, path]
    processes = [subprocess.Popen([*argv, app], cwd=ROOT) for app in ("a", "b")]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert delta.version(path) == 80
    assert epochs(path) == sorted([*range(40), *range(40)])
