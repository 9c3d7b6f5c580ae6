"""Quarantined records larger than memory are exported, and repaired with the few originals that a file names."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core.catalog import Catalog
from core.decoding.redrive_headers import ORIGIN
from core.errors import Refused
from core.event_columns import ERROR, SOURCE_COLUMNS
from core.identifiers import Name
from core.measures import Column
from core.positions import RecordPosition
from core.topic import Field, Lines, Topic
from infra.lake import delta, idempotent_writes, table_paths
from infra.lake.arrow_types import arrow_schema
from infra.settings import Settings
from speed.quarantine import listing, repair_file
from speed.quarantine.newest_rules import newest_rules
from speed.quarantine.repairs import repairs_of
from speed.quarantine.spool import spool

TRADES = Name("trades")
CATALOG = Catalog({TRADES: Topic("trades", Lines("(.*)"), (Field("n"),), key="n")}, {})
SCHEMA = arrow_schema([*(Column(*column) for column in SOURCE_COLUMNS.values()), Column(ERROR, "string")])
MIB = 1024 * 1024
RECORDS, SIZE = 128, MIB // 2
COPY = RECORDS + 2


def rows(values: dict[int, bytes]) -> pa.Table:
    shared = {"_topic": "trades", "_partition": 0, "_timestamp": datetime(2026, 3, 14, tzinfo=UTC), ERROR: "no_match"}
    return pa.Table.from_pylist([{**shared, "_offset": n, "_value": value} for n, value in values.items()], SCHEMA)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An archive of 64 MiB of equal records, which take few bytes on disk, and of two small ones, one of them twice."""
    settings = Settings(data=tmp_path_factory.mktemp("lake"))
    path = table_paths.archive(settings, TRADES, CATALOG.decoder(TRADES))
    delta.create(path, SCHEMA)
    idempotent_writes.append_once(path, rows(dict.fromkeys(range(RECORDS), b"x" * SIZE)), "test", 1)
    idempotent_writes.append_once(path, rows({RECORDS: b"small"}), "test", 2)
    idempotent_writes.append_once(path, rows({RECORDS: b"small", RECORDS + 1: b"\xff"}), "test", 3)
    copy = rows({COPY: b"copy"}).to_pylist()[0] | {"_headers": [{"key": ORIGIN, "value": b"trades/0/1"}]}
    idempotent_writes.append_once(path, pa.Table.from_pylist([copy], SCHEMA), "test", 4)
    return settings


@contextmanager
def within(mib: int) -> Iterator[None]:
    """Fails when Python and Arrow together take more memory than so many MiB."""
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert peak < mib * MIB, f"{peak / MIB:.0f} MiB"


def test_an_export_takes_little_memory_and_is_in_the_order_of_the_log(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "repairs.jsonl"
    with within(mib=40):
        records = listing.quarantined_records(settings, CATALOG, TRADES)
        exported = repair_file.export(settings, CATALOG.topics, records, file)
    assert (exported.records, exported.redriven, exported.copies) == (RECORDS + 2, 0, 1)
    with file.open() as lines:
        assert [json.loads(line)["offset"] for line in lines] == [*range(RECORDS + 2)]


def test_the_rules_of_many_records_take_the_memory_of_few(settings: Settings) -> None:
    with within(mib=24):
        (rule,) = newest_rules(settings, CATALOG, [TRADES], 2)
    assert (rule.rule, rule.records, rule.looked_at) == ("no_match", RECORDS + 3, RECORDS + 3)
    texts = {"copy", "small", r"\xff", "x" * 80 + "…"}
    assert [(entry.text in texts, entry.redriven) for entry in rule.examples] == [(True, False)] * 2


def test_the_first_records_of_many_are_listed_without_reading_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, read = Settings(data=tmp_path), [0]
    path = table_paths.archive(settings, TRADES, CATALOG.decoder(TRADES))
    delta.create(path, SCHEMA)
    for number, first in enumerate((700, 100, 900, 0, 300, 200, 800, 50, 600), 1):
        values = {offset: b"%d" % offset for offset in range(first, first + 50)}
        idempotent_writes.append_once(path, rows(values), "test", number)
    every_batch = delta.batches

    def counted(*asked: Any) -> Iterator[pa.RecordBatch]:
        for batch in every_batch(*asked):
            read[0] += batch.num_rows
            yield batch

    monkeypatch.setattr(delta, "batches", counted)
    for limit, expected in ((0, []), (3, ["0", "1", "2"])):
        listed = listing.list_quarantined(settings, catalog=CATALOG, topic=TRADES, limit=limit)
        assert [entry.text for entry in listed] == expected
    assert read[0] < 100, "of 450"
    listed = listing.list_quarantined(settings, catalog=CATALOG, topic=TRADES, limit=1_000)
    assert [entry.offset for entry in listed] == sorted(entry.offset for entry in listed)
    assert len(listed) == 450


def repair_line(offset: int, value: str = "7") -> str:
    return json.dumps({"topic": "trades", "partition": 0, "offset": offset, "key": "k", "value": value}) + "\n"


def test_a_file_of_few_lines_needs_the_memory_of_few_records(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "repairs.jsonl"
    file.write_text(repair_line(RECORDS + 1, "8") + repair_line(5) + repair_line(RECORDS))
    with within(mib=40), repairs_of(settings, CATALOG, file) as repairs:
        (portion,) = repairs.portions(TRADES)
    originals = [(repair.repaired.line, repair.original.offset, repair.original.value) for repair in portion]
    assert originals == [(1, RECORDS + 1, b"\xff"), (2, 5, b"x" * SIZE), (3, RECORDS, b"small")]
    assert [repair.repaired.value for repair in portion] == [b"8", b"7", b"7"]


def test_many_repairs_are_in_memory_a_few_at_a_time(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "repairs.jsonl"
    file.write_text("".join(repair_line(offset) for offset in reversed(range(RECORDS))))
    with within(mib=40), repairs_of(settings, CATALOG, file) as repairs:
        offsets = [[repair.original.offset for repair in portion] for portion in repairs.portions(TRADES)]
    assert [len(portion) for portion in offsets] == [16] * 8
    assert [offset for portion in offsets for offset in portion] == [*reversed(range(RECORDS))]


@pytest.mark.parametrize(
    ("offset", "error"),
    [(RECORDS + 9, "line 2: trades/0/137 is not in quarantine"), (COPY, "line 2: trades/0/130 is a copy of")],
    ids=["absent", "copy"],
)
def test_a_line_without_an_original_refuses_the_file(
    settings: Settings, tmp_path: Path, offset: int, error: str
) -> None:
    file = tmp_path / "repairs.jsonl"
    file.write_text(repair_line(RECORDS) + repair_line(offset))
    with pytest.raises(Refused, match=error), repairs_of(settings, CATALOG, file):
        pass


def fill() -> None:
    with spool() as kept:
        kept._rows.execute("pragma max_page_count = 20")
        kept.add(RecordPosition(TRADES, 0, 1), b"x" * MIB)


def test_no_room_for_the_records_is_refused() -> None:
    with pytest.raises(Refused, match="cannot be kept on disk"):
        fill()
