"""A redriven copy is an event while its original does not decode. Later it is dropped with a rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from core.decoding.decode import decode, decode_originals
from core.decoding.redrive_headers import headers, origin_of
from core.gate_checks import rule_names
from core.topic import Topic
from tests.support.records.frames import KAFKA, dicts
from tests.support.records.kafka_log import Headers
from tests.support.records.trade_records import GOOD, T0, but
from views import access_log, trades
from views.programs import profiles

TRADES = trades.TOPIC
LINE = b'10.0.0.1 - - [14/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "c"'
PROFILE = b'{"user_id":"u","city":"Oslo","level":1}'


def record(value: bytes | None, record_headers: Headers | None = None, key: bytes | None = b"k") -> dict[str, Any]:
    kafka_headers = None if record_headers is None else [{"key": name, "value": text} for name, text in record_headers]
    at = T0 * 1000
    return {"key": key, "value": value, "topic": "t", "partition": 0, "offset": 0, "timestamp": at} | {
        "headers": kafka_headers
    }


def frame(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    numbered = [{**row, "offset": n, "timestampType": 0} for n, row in enumerate(rows)]
    return spark.createDataFrame(pa.Table.from_pylist(numbered, KAFKA)).coalesce(1)


def copy(original: bytes | None, key: bytes | None = b"k") -> Headers:
    return tuple(headers("t/0/7", key, original, [("a", b"b"), ("n", None)]))


@pytest.mark.parametrize(
    ("topic", "good", "bad", "key"),
    [
        (TRADES, GOOD.encode(), but(size=0).encode(), b"k"),
        (TRADES, GOOD.encode(), GOOD.encode(), None),
        (TRADES, GOOD.encode(), None, b"k"),
        (access_log.TOPIC, LINE, LINE[:-1], None),
        (profiles.TOPIC, PROFILE, PROFILE.replace(b"1", b"-1"), b"u"),
        (profiles.TOPIC, None, b"{}", b"u"),
    ],
    ids=["field", "null key", "null value", "lines", "changelog", "delete"],
)
def test_a_copy_is_an_event_while_its_original_does_not_decode(
    spark: SparkSession, topic: Topic, good: bytes | None, bad: bytes | None, key: bytes | None
) -> None:
    rows = frame(
        spark, record(good), record(good, copy(bad, key)), record(good, copy(good)), record(bad, copy(bad, key), key)
    )
    [alone] = dicts(decode(topic, frame(spark, record(bad, None, key))))
    assert alone["_error"]
    expected = [None, None, "redriven_original_decodes", alone["_error"]]
    assert [row["_error"] for row in dicts(decode(topic, rows))] == expected
    assert {rule for error in expected if error for rule in error.split(",")} <= set(rule_names(topic))
    quick = [None, None, None, alone["_error"]]
    assert [row["_error"] for row in dicts(decode_originals(topic, rows))] == quick


def test_a_dropped_copy_keeps_its_bytes_and_has_no_fields(spark: SparkSession) -> None:
    [row] = dicts(decode(TRADES, frame(spark, record(GOOD.encode(), copy(GOOD.encode())))))
    assert (row["_value"], row["event_time"], row["price"]) == (GOOD.encode(), None, None)
    kept = [(header["key"], header["value"]) for header in row["_headers"]]
    assert kept == list(copy(GOOD.encode()))
    assert origin_of(kept) == "t/0/7"
    assert origin_of(kept[:2]) is None


def test_a_wider_rule_drops_the_copies_of_the_records_that_it_accepts(spark: SparkSession) -> None:
    """The older definition decodes the copy, the newer one decodes the original."""
    old = but(size=0).encode()
    row = record(GOOD.encode(), copy(old))
    wider = replace(TRADES, fields=tuple(replace(f, minimum="0") if f.name == "size" else f for f in TRADES.fields))
    assert dicts(decode(TRADES, frame(spark, row)))[0]["_error"] is None
    original, copied = dicts(decode(wider, frame(spark, record(old), row)))
    assert (original["_error"], copied["_error"]) == (None, "redriven_original_decodes")


def test_the_rules_that_a_dropped_copy_itself_breaks_are_reported_too(spark: SparkSession) -> None:
    [row] = dicts(decode(TRADES, frame(spark, record(but(size=0).encode(), copy(GOOD.encode())))))
    assert row["_error"] == "redriven_original_decodes,field_size"
