"""Every bad record becomes a row that names its rules. Decoding never throws and loses no record."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from core.decoding.decode import decode, decode_originals, decode_originals_plainly, decode_plainly, raw
from core.event_columns import RAW_COLUMNS, decoded_columns
from core.topic import Field, Json, Rule, Topic, Version
from tests.support.oracle.view_oracle import Record, decode_record, moment
from tests.support.records.frames import dicts, from_kafka, named
from tests.support.records.trade_records import EVENT, GOOD, NEWER, T0, but, price, trade_records
from views import trades

TRADES = trades.TOPIC


BAD: list[tuple[str, str | bytes | None]] = [
    ("null_value", None),
    ("too_long", "x" * 70_000),
    ("too_long", but(id="x" * 1_000_000)),
    ("bad_utf8", GOOD.encode().replace(b"7-1", b"\xff\xfe")),
    ("bad_utf8", b"\xed\xa0\x80"),
    ("not_json", "[" * 60_000),
    ("not_json", f'{GOOD[:-1]},"deep":{"[" * 10_000}{"]" * 10_000}}}'),
    ("not_json", ""),
    ("not_json", "nope"),
    ("not_json", "null"),
    ("not_json", "5"),
    ("not_json", '"text"'),
    ("not_json", "[]"),
    ("not_json", f"[{GOOD}]"),
    ("not_json", f"{GOOD},{GOOD}"),
    ("not_json", f"{GOOD} {GOOD}"),
    ("not_json", f"{GOOD}}}"),
    ("not_json", f"{GOOD}x"),
    ("not_json", f"{GOOD}]"),
    ("not_json", f"{GOOD}],x"),
    ("not_json", f"{GOOD},{{}}],x"),
    ("not_json", f"{GOOD},{{}}"),
    ("not_json", GOOD.replace('"size":100', '"size":1,"size":100')),
    ("not_json", GOOD.replace("7-1", r"\ud800")),
    ("not_json", GOOD.replace("7-1", r"\uDFFF")),
    ("not_json", GOOD.replace("7-1", r"\ud83d\ud83d\ude00")),
    ("not_json", GOOD.replace("7-1", r"\ude00\ud83d")),
    ("not_json", GOOD.replace("7-1", r"\\ud83d\ude00")),
    ("not_json", GOOD[:-1]),
    ("not_json", GOOD[:-3]),
    ("not_json", GOOD.replace('"', "'")),
    ("not_json", GOOD.replace('"id"', "id")),
    ("not_json", price("012.34")),
    ("not_json", price("12.")),
    ("not_json", price("+1")),
    ("not_json", price("NaN")),
    ("not_json", price("Infinity")),
    ("not_json", price("1.2.3")),
    ("not_json", GOOD.replace("7-1", "a\nb")),
    ("unknown_version", but(version=3)),
    ("unknown_version", but(version="x")),
    ("unknown_version", but(version=1.0)),
    ("unknown_version", but(version="")),
    ("field_type,field_ticker,field_price,field_size,field_event_time", "{}"),
    ("too_long,bad_utf8", b"x" * 70_000 + b"\xff"),
    ("field_type,field_size", but(type="sell", size=0)),
    ("field_ticker,field_venue", NEWER.replace("XNAS", "nasdaq").replace("MSFT", "msft")),
    ("field_price,field_event_time", but(price=-5, event_time=5)),
    ("field_size", but(size=10**9 + 1, price=99_999_999.99)),  # rules over an invalid size are not evaluated
    ("field_event_time,rule_affordable", but(price=99_999_999.99, size=1_000, event_time=0)),
    ("field_type", but(type="sell")),
    ("field_type", but(type="bid\n")),
    ("field_ticker", but(ticker=None)),
    ("field_ticker", but(ticker="")),
    ("field_ticker", but(ticker=5)),
    ("field_ticker", but(ticker={"a": 1})),
    ("field_price", but(price=None)),
    ("field_price", but(price="cheap")),
    ("field_price", but(price=True)),
    ("field_price", price("12.345")),
    ("field_price", price("12.340")),
    ("field_price", price("12.3400000000000000000000000000000000000001")),
    ("field_price", price("1e2")),
    ("field_price", price("0")),
    ("field_price", price("-0.01")),
    ("field_price", price("100000000")),
    ("field_price", price("9" * 60)),
    ("field_price", price('" 12.34"')),
    ("field_size", but(size=0)),
    ("field_size", but(size=-5)),
    ("field_size", but(size=1.0)),
    ("field_size", but(size=10**9 + 1)),
    ("field_size", but(size=2**63)),
    ("field_size", but(size=10**40)),
    ("field_size", but(size="")),
    ("field_event_time", but(event_time=0)),
    ("field_event_time", but(event_time=-1)),
    ("field_event_time", but(event_time=31_535_999_999)),
    ("field_event_time", but(event_time=7_258_118_400_000)),
    ("field_event_time", but(event_time=T0 * 1000)),
    ("field_event_time", but(event_time=2**63 - 1)),
    ("field_event_time", but(event_time="2025-11-21T08:00:00Z")),
    ("field_event_time", but(event_time=T0 + 0.5)),
    ("field_venue", NEWER.replace("XNAS", "nasdaq")),
    ("rule_affordable", but(price=99_999_999.99, size=1_000)),
]

FINE: list[tuple[str, dict[str, Any]]] = [
    (GOOD, {"price": Decimal("12.34"), "size": 100, "id": "7-1"}),
    (json.dumps(EVENT, indent=2), {"price": Decimal("12.34")}),
    (f"  {GOOD}\n", {"price": Decimal("12.34")}),
    (price("0.01"), {"price": Decimal("0.01")}),
    (price("12.3"), {"price": Decimal("12.30")}),
    (price("12345678.50"), {"price": Decimal("12345678.50")}),
    (price('"12.34"'), {"price": Decimal("12.34")}),
    (but(version=1), {"id": "7-1"}),
    (but(version="1"), {"id": "7-1"}),
    (but(id=None), {"id": None}),
    (GOOD.replace('"7-1"', "null"), {"id": None}),
    (but(id=""), {"id": ""}),
    (but(id=7), {"id": "7"}),
    (but(id=":5"), {"id": ":5"}),
    (but(id='say ":5,"'), {"id": 'say ":5,"'}),
    (but(id='\\":1}'), {"id": '\\":1}'}),
    (but(id="}{"), {"id": "}{"}),
    (but(id="é😀"), {"id": "é😀"}),
    (GOOD.replace("7-1", r"\ud83d\ude00\u00e9"), {"id": "😀é"}),
    (GOOD.replace("7-1", r"\\ud83d"), {"id": r"\ud83d"}),
    (but(id="1.50"), {"id": "1.50"}),
    (but(other={"deep": [1, {"price": 9}]}), {"price": Decimal("12.34")}),
    (but(_bad="spoof"), {"price": Decimal("12.34")}),
    (but(event_time=31_536_000_000), {"event_time": moment(31_536_000_000)}),
    (but(event_time=7_258_118_399_999), {"event_time": moment(7_258_118_399_999)}),
    (but(size=10**9, price=10), {"size": 10**9}),
    (NEWER, {"type": "ask", "ticker": "MSFT", "price": Decimal("1.50"), "size": 3, "id": None, "venue": "XNAS"}),
    (NEWER.replace(',"venue":"XNAS"', ""), {"venue": None}),
]


@pytest.fixture(scope="module")
def decoded(spark: SparkSession) -> list[dict[str, Any]]:
    """All records in one job: a bad record must not change its neighbours."""
    records = trade_records(*(value for _, value in BAD), *(value for value, _ in FINE))
    rows = dicts(decode(TRADES, from_kafka(spark, records)))
    assert [row["_offset"] for row in rows] == list(range(len(BAD) + len(FINE)))
    return rows


@pytest.mark.parametrize("number", range(len(BAD)), ids=lambda n: f"{BAD[n][0]}-{str(BAD[n][1])[:40]}")
def test_a_bad_record_names_every_rule_that_it_breaks(decoded: list[dict[str, Any]], number: int) -> None:
    rule, value = BAD[number]
    row = decoded[number]
    assert row["_error"] == rule
    assert row["_value"] == (value.encode() if isinstance(value, str) else value)
    assert {name: row[name] for name in ("event_time", "type", "ticker", "price", "size", "id", "venue")} == {
        "event_time": None,
        "type": None,
        "ticker": None,
        "price": None,
        "size": None,
        "id": None,
        "venue": None,
    }
    [record] = trade_records(value)
    assert decode_record("trades", record) == rule, "the oracle finds another error"


@pytest.mark.parametrize("number", range(len(FINE)), ids=lambda n: FINE[n][0][:60])
def test_a_good_record_is_read_exactly(decoded: list[dict[str, Any]], number: int) -> None:
    value, expected = FINE[number]
    row = decoded[len(BAD) + number]
    assert row["_error"] is None
    assert {name: row[name] for name in expected} == expected
    [record] = trade_records(value)
    event = decode_record("trades", record)
    assert isinstance(event, dict)
    names = ("type", "ticker", "price", "size", "event_time", "id", "venue")
    assert {name: row[name] for name in names} == {name: event[name] for name in names}


def test_decoded_rows_have_the_declared_columns_and_their_coordinates(spark: SparkSession) -> None:
    frame = decode(TRADES, from_kafka(spark, [Record("trades", 3, 17, T0 + 5, b"k", GOOD.encode())]))
    assert dict(frame.dtypes) == decoded_columns(TRADES)
    assert tuple(frame.columns[:8]) == RAW_COLUMNS
    [row] = dicts(frame)
    assert (row["_topic"], row["_partition"], row["_offset"]) == ("trades", 3, 17)
    assert (row["_timestamp"], row["_key"], row["_value"]) == (moment(T0 + 5), b"k", GOOD.encode())


def test_decoding_archived_rows_again_changes_nothing(spark: SparkSession) -> None:
    first = decode(TRADES, from_kafka(spark, trade_records(GOOD, NEWER, None, "nope")))
    assert dicts(decode(TRADES, raw(first))) == dicts(first)


def test_a_source_without_headers_gives_null_headers(spark: SparkSession) -> None:
    frame = from_kafka(spark, trade_records(GOOD)).drop("headers")
    assert dicts(decode(TRADES, frame))[0]["_headers"] is None


def test_filtering_good_events_decodes_each_record_once(spark: SparkSession) -> None:
    records = from_kafka(spark, trade_records(GOOD))
    plainly = {decode_originals_plainly: 1, decode_plainly: 2}  # the original of a redriven copy is parsed too
    frames = {read(TRADES, named(records)): ("parseJson", times) for read, times in plainly.items()}
    frames |= {read(TRADES, records): ("RecordDecoder", 1) for read in (decode_originals, decode)}
    for frame, (call, times) in frames.items():
        plan = frame.where("_error is null")._jdf.queryExecution().optimizedPlan().toString()
        assert sum(call in line for line in plan.splitlines()) == times


def test_an_upcast_may_end_in_a_comment_and_a_rule_may_name_a_column_in_capitals(spark: SparkSession) -> None:
    versions = (Version(1, ("name",), {"title": "trim(name) -- of the song"}), Version(2, ("title",)))
    topic = Topic("songs", Json(versions), (Field("title"),), rules=(Rule("timed", "_TIMESTAMP is not null"),))
    values = (b'{"name":" a "}', b'{"version":2,"title":"b"}')
    log = [Record("songs", 0, offset, T0, None, value) for offset, value in enumerate(values)]
    assert [(row["title"], row["_error"]) for row in dicts(decode(topic, from_kafka(spark, log)))] == [
        ("a", None),
        ("b", None),
    ]
