"""Field types and line formats that no shipped topic uses."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from core.decoding.decode import decode
from core.topic import Field, Json, Lines, Topic, Version
from tests.support.oracle.view_oracle import Record, moment
from tests.support.records.decoder import Decoder
from tests.support.records.frames import dicts, from_kafka

T0 = 1_763_712_000_000

KINDS = Topic(
    "kinds",
    Json((Version(1, ("flag", "at", "day", "money", "whole", "note")),)),
    fields=(
        Field("flag", "boolean"),
        Field("at", "timestamp"),
        Field("day", "timestamp", required=False, time_format="yyyy-MM-dd HH:mm:ss.SSSSSS"),
        Field("money", "decimal(38,18)", required=False, minimum="-1.5", maximum="99999999999999999999"),
        Field("whole", "decimal(3,3)", required=False),
        Field("note", required=False, absent="n/a", pattern="[a-z]*"),
    ),
)


def kinds(decoder: Decoder, **values: Any) -> dict[str, Any]:
    text = json.dumps({"flag": True, "at": T0} | values).encode()
    [row] = dicts(decoder.rows(KINDS, [Record("kinds", 0, 0, T0 + 1, None, text)]))
    return row


def test_every_type_is_converted_exactly(decoder: Decoder) -> None:
    row = kinds(
        decoder, day="2025-11-21 08:00:00.123999", money="12345678901234567890.123456789012345678", whole="0.999"
    )
    assert row["_error"] is None
    assert (row["flag"], row["day"]) == (True, moment(T0 + 123))
    assert (row["money"], row["whole"]) == (Decimal("12345678901234567890.123456789012345678"), Decimal("0.999"))
    assert row["event_time"] == moment(T0 + 1), "a topic without event_time takes the record's own"


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"flag": "True"}, "field_flag"),
        ({"flag": 1}, "field_flag"),
        ({"day": "2025-02-30 00:00:00.000000"}, "field_day"),
        ({"day": "1960-01-01 00:00:00.000000"}, "field_day"),
        ({"money": "-1.6"}, "field_money"),
        ({"money": "100000000000000000000"}, "field_money"),
        ({"whole": "1.0"}, "field_whole"),
        ({"note": "A"}, "field_note"),
        ({"note": "n/a"}, None),
        ({"note": ""}, None),
    ],
)
def test_a_text_that_does_not_fit_its_type_is_reported(
    decoder: Decoder, values: dict[str, Any], rule: str | None
) -> None:
    assert kinds(decoder, **values)["_error"] == rule


LINES = Topic("lines", Lines(r"(\w+)(?: (\d+))?"), (Field("word"), Field("n", "bigint", required=False, absent="")))


def lines(spark: SparkSession, *values: bytes) -> DataFrame:
    return decode(LINES, from_kafka(spark, [Record("lines", 0, n, T0, None, v) for n, v in enumerate(values)]))


def test_lines_match_as_a_whole(spark: SparkSession) -> None:
    rows = [
        (r["_error"], r["word"], r["n"]) for r in dicts(lines(spark, b"a 5", b"a", b"a 5\n", b"a 5 b", b"", b"a\x01"))
    ]
    assert rows == [
        (None, "a", 5),
        (None, "a", None),
        ("no_match", None, None),
        ("no_match", None, None),
        ("no_match", None, None),
        ("no_match", None, None),
    ]
