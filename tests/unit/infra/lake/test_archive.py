"""An archive of many landings stays quick to open: its small files are merged, and every offset is there once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from core.cut import Cut
from core.identifiers import Name
from infra.control import locks
from infra.lake import archive, checksums, delta
from infra.settings import Settings

TOPIC, DECODER = Name("trades"), Name("d1")
AT = datetime(2026, 3, 14, tzinfo=UTC)
COLUMNS = pa.schema(
    {
        "_partition": pa.int32(),
        "_offset": pa.int64(),
        "_timestamp": pa.timestamp("us", "UTC"),
        "event_time": pa.timestamp("us", "UTC"),
        "_value": pa.binary(),
        "_headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
    }
)


def landed(path: str, partition: int, first: int, count: int) -> None:
    """One landing of a partition."""
    row = {"_partition": partition, "_timestamp": AT, "event_time": None, "_headers": [{"key": "a", "value": b"1"}]}
    rows = [row | {"_offset": offset, "_value": b"%d" % offset} for offset in range(first, first + count)]
    write_deltalake(path, pa.Table.from_pylist(rows, COLUMNS), mode="append", post_commithook_properties=delta.HOOKS)
    checksums.record(path, delta.version(path))


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The archive of two partitions with forty landings each."""
    path = str(tmp_path / "archive")
    properties = {"delta.dataSkippingStatsColumns": "_offset,_timestamp,event_time"}
    opened = DeltaTable.create(path, COLUMNS, partition_by=["_partition"], configuration=properties)
    opened.alter.set_table_properties({archive.TOPIC_ID: "id"}, raise_if_not_exists=False)
    for number in range(40):
        for partition in (0, 1):
            landed(path, partition, 5 * number, 5)
    return path


def offsets(path: str) -> list[tuple[int, int, bytes]]:
    rows = delta.read(path, ["_partition", "_offset", "_value"]).to_pylist()
    return sorted((row["_partition"], row["_offset"], row["_value"]) for row in rows)


def test_an_archive_of_many_landings_is_merged_and_holds_every_offset_once(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=tmp_path / "data")
    expected = [(partition, offset, b"%d" % offset) for partition in (0, 1) for offset in range(200)]
    with locks.hold(settings, "batch") as lease:
        assert not archive.merge_small_files(path, lease), "80 files are few"
        monkeypatch.setattr(archive, "SMALL_FILES", 80)
        assert archive.merge_small_files(path, lease)
        assert not archive.merge_small_files(path, lease)
    merged = archive.read_archive(TOPIC, DECODER, path)
    assert sorted((file.span.partition, file.span.start, file.span.end, file.records) for file in merged.files) == [
        (0, 0, 200, 200),
        (1, 0, 200, 200),
    ]
    assert (merged.ends, merged.topic_id) == (Cut.of({"trades": {0: 200, 1: 200}}), "id")
    assert offsets(path) == expected
    checksums.finish()
    assert len(checksums.listed(path)) == 1, "a checkpoint merges the checksums of all landings"
    landed(path, 1, 200, 3)
    assert archive.read_archive(TOPIC, DECODER, path).ends == Cut.of({"trades": {0: 200, 1: 203}})


def test_a_landing_leaves_a_column_null_that_a_newer_program_has_added(path: str) -> None:
    newer = pa.schema([pa.field("newer", pa.string())])
    delta.table(path).alter.add_columns(Schema.from_arrow(newer).fields)
    row = {"_partition": 1, "_offset": 200, "_timestamp": AT, "event_time": None, "_value": b"200", "_headers": []}
    before = archive.read_archive(TOPIC, DECODER, path)
    archive.append_rows(before, pa.Table.from_pylist([row], COLUMNS), "land", "a note")
    after = archive.read_archive(TOPIC, DECODER, path)
    assert (before.ends.end("trades", 1), after.ends.end("trades", 1)) == (200, 201)
    assert offsets(path)[-1] == (1, 200, b"200")
    assert delta.read(path, ["newer"])["newer"].to_pylist() == [None] * 401


def test_the_only_small_file_of_a_partition_merges_with_none(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic of many partitions has one in each: a cleanup must not read them again each time."""
    with locks.hold(Settings(data=tmp_path / "data"), "batch") as lease:
        monkeypatch.setattr(archive, "SMALL_FILES", 1)
        assert archive.merge_small_files(path, lease)
        landed(path, 2, 0, 5)
        assert not archive.merge_small_files(path, lease)
        landed(path, 2, 5, 5)
        assert archive.merge_small_files(path, lease)


def test_what_a_merge_replaced_stays_for_queries_that_read_it(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "SMALL_FILES", 1)
    before = {str(file) for file in Path(path).rglob("*.parquet")}
    with locks.hold(Settings(data=tmp_path / "data"), "batch") as lease:
        archive.merge_small_files(path, lease)
        assert {str(file) for file in Path(path).rglob("_partition=*/*.parquet")} > before
        delta.set_retention(path, "interval 0 seconds")
        landed(path, 0, 200, 1)
        archive.merge_small_files(path, lease)
    live = {f"{path}/{file.path}" for file in archive.read_archive(TOPIC, DECODER, path).files}
    assert {str(file) for file in Path(path).rglob("_partition=*/*.parquet")} == live
    assert offsets(path)[-1] == (1, 199, b"199")
    assert len(offsets(path)) == 401
