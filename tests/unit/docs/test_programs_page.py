"""docs/programs.md: each query returns the rows that stand below it. Records and rows are computed in plain Python.

``LK_WRITE_DOCS=1 .venv/bin/pytest tests/unit/docs/test_programs_page.py`` writes the rows again.
"""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from core.sample_data.records import records
from core.sample_spec import SampleSpec
from core.topic import Topic
from infra.project_files import ACCESS_LOG, ROOT
from tests.support.oracle import program_events, program_oracle, view_oracle
from tests.support.oracle.view_oracle import Record
from views import trades
from views.programs import lines, orders, page_views, payments, profiles, purchases, readings, searches

PAGE = ROOT / "docs" / "programs.md"
GENERATED = (lines, orders, page_views, payments, profiles, purchases, readings, searches, trades)
START = 1_763_726_400_000  # 2025-11-21T12:00:00 UTC, and the shares of the page's first commands
SPEC = SampleSpec(7, START, rate=20, late=0.1, late_by=600_000, out_of_order=0.1, unmatched=0.1, bad=0.01)
# When the page's purchases were appended to the log, and read by an epoch.
APPENDED, READ = (datetime(2026, 11, 23, 6, minute, tzinfo=UTC) for minute in (3, 4))
BLOCK = re.compile(r'^```sh\n((?:lk query "[^"\n]+"\n)+)```\n\n((?:\|.*\n)+)', re.M)
COLUMNS = {
    "order_payments": "order_id ordered_at paid_at happened_at amount payment_id paid side",
    "orders_by_country": "country_name orders amount",
    "page_views_enriched": "user_id view_id viewed_at page city level term searched_at",
    "profile_changes": "user_id changed_at is_deleted city level was_there city_before level_before",
    "profiles_now": "user_id city level deleted",
    "purchases_by_append_time": "item minute reports",
    "purchases_by_event_time": "item minute reports",
    "purchases_by_processing_time": "item minute reports",
    "purchases_once": "purchase_id item reported_at",
    "readings_backwards": "device measured_at log_partition log_offset seen",
    "readings_by_hour": "device hour readings celsius_sum celsius_min celsius_max celsius_avg",
    "readings_gaps": "device seq missing copies",
    "sessions": "client started_at ended_at requests bytes",
    "top_ten": "ticker hour trades volume place",
    "trade_stats": "ticker window_start trades price_sum price_min price_max price_avg",
    "trades_sliding": "ticker traded_at log_partition log_offset price trades price_sum price_avg",
    "trades_week": "ticker day trades price_sum price_low price_high price_avg_week",
    "word_count": "word times",
}
Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    """A database with the rows of each view."""
    with closing(sqlite3.connect(":memory:")) as opened:
        for view, rows in view_rows(list(log())).items():
            columns = COLUMNS[view].split()
            opened.execute(f"CREATE TABLE {view} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            opened.executemany(f"INSERT INTO {view} VALUES ({marks})", [tuple(map(stored, row)) for row in rows])
        yield opened


def test_each_query_of_the_page_returns_the_rows_below_it(database: sqlite3.Connection) -> None:
    page = PAGE.read_text("utf-8")
    if os.environ.get("LK_WRITE_DOCS"):
        page = BLOCK.sub(lambda block: f"```sh\n{block[1]}```\n\n{answer(database, block[1])}", page)
        PAGE.write_text(page, "utf-8")
    blocks = BLOCK.findall(page)
    assert len(blocks) == 16
    for commands, table in blocks:
        assert table == answer(database, commands), commands


def answer(database: sqlite3.Connection, commands: str) -> str:
    """The rows of some queries, one after the other, as a Markdown table."""
    answers = [database.execute(sql) for sql in re.findall(r'"(.+)"', commands)]
    header = [column[0] for column in answers[0].description]
    rows = [["" if cell is None else str(cell) for cell in row] for answer in answers for row in answer]
    rule = "|" + "---|" * len(header)
    return "".join(f"{line}\n" for line in (markdown(header), rule, *map(markdown, rows)))


def markdown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def log() -> Iterator[Record]:
    """The records of all topics, at the positions that Kafka gives them."""
    for module in GENERATED:
        topic, ends = module.TOPIC, Counter[int]()
        for key, value, at in records(topic, SPEC, 400):
            partition = partition_of(key, topic)
            yield Record(topic.name, partition, ends[partition], at, key, value)
            ends[partition] += 1
    with gzip.open(ACCESS_LOG) as file:
        for offset, line in enumerate(file):
            yield Record("access_log", 0, offset, 0, None, line.rstrip(b"\n"))


def partition_of(key: bytes | None, topic: Topic) -> int:
    """Where Kafka's default partitioner, murmur2, puts a key."""
    if key is None:
        return 0
    mixed, mask = (0x9747B28C ^ len(key)) & 0xFFFFFFFF, 0xFFFFFFFF
    whole = len(key) // 4 * 4
    for start in range(0, whole, 4):
        word = int.from_bytes(key[start : start + 4], "little") * 0x5BD1E995 & mask
        word = (word ^ word >> 24) * 0x5BD1E995 & mask
        mixed = (mixed * 0x5BD1E995 & mask) ^ word
    if key[whole:]:
        mixed = (mixed ^ int.from_bytes(key[whole:], "little")) * 0x5BD1E995 & mask
    mixed = (mixed ^ mixed >> 13) * 0x5BD1E995 & mask
    return ((mixed ^ mixed >> 15) & 0x7FFFFFFF) % topic.partitions


def view_rows(log_records: list[Record]) -> dict[str, Iterable[Row]]:
    events = [event for record in log_records for event in valid(record)]
    programs = [view for view in COLUMNS if view in program_oracle.KEYS or view in program_oracle.ROLLUPS]
    rows = {view: program_oracle.rows(view, events) for view in programs}
    reports = Counter(event["item"] for event in events if event["topic"] == "purchases")
    stats = view_oracle.expected("trade_stats", log_records).items()
    return rows | {
        "profiles_now": [row for row in rows["profiles_now"] if not row[3]],
        "purchases_by_append_time": [(item, APPENDED, count) for item, count in reports.items()],
        "purchases_by_processing_time": [(item, READ, count) for item, count in reports.items()],
        "readings_by_hour": [(*row, average(row[3], row[2], 4)) for row in rows["readings_by_hour"]],
        "top_ten": ranked(rows["top_ten"]),
        "trade_stats": [(*key, *measures.values()) for key, measures in stats],
        "trades_sliding": [(*row, average(row[6], row[5], 6)) for row in rows["trades_sliding"]],
        # All trades are of one day, so the average of the week is the average of the day.
        "trades_week": [(*row, average(row[3], row[2], 6)) for row in rows["trades_week"]],
    }


def valid(record: Record) -> list[program_oracle.Event]:
    """The event of a record; none of one whose value was spoiled."""
    spoiled = record.value is not None and record.value.startswith(b"\xff")
    return [] if spoiled else program_events.events([record])


def ranked(rows: Iterable[Row]) -> list[Row]:
    """The ten largest volumes of each hour, with their places."""
    places: Counter[datetime] = Counter()
    ranked_rows = []
    for row in sorted(rows, key=lambda row: (row[1], -row[3], row[0])):
        places[row[1]] += 1
        ranked_rows.append((*row, places[row[1]]))
    return [row for row in ranked_rows if row[-1] <= 10]


def average(total: Decimal, count: int, digits: int) -> Decimal:
    return (total / count).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def stored(value: Any) -> Any:
    """Decimals keep their digits; times are UTC, with milliseconds where they have any."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}" + (f".{value.microsecond // 1_000:03d}" if value.microsecond else "")
    return str(value) if isinstance(value, Decimal) else value
