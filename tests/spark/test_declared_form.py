"""A pattern reads records of the declared form. It reads the same values as the JSON parser."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from core.decoding import declared_form
from core.decoding.formats import json_names
from core.topic import Json
from tests.support.oracle.view_oracle import Record
from tests.support.records.decoder import Decoder
from tests.support.records.frames import dicts, from_kafka
from views import trades

TRADES = trades.TOPIC
T0 = 1_763_712_000_000
ONE = '{"type":"bid","ticker":"AAPL","price":12.34,"size":100,"event_time":1763712000000,"id":"7-1"}'
TWO = '{"version":2,"side":"ASK","symbol":"MSFT","price":1.50,"size":3,"event_time":1763712000001,"venue":"XNAS"}'

SHAPED = [
    (ONE, True),
    (json.dumps(json.loads(ONE)), True),
    (TWO, True),
    (json.dumps(json.loads(TWO)), True),
    (json.dumps(json.loads(ONE), separators=(", ", ":")), False),
    (TWO.replace("2", "1", 1), False),
    (ONE.replace("12.34", "-0.50"), True),
    (ONE.replace("12.34", "-0.5e+7"), False),
    (ONE.replace("12.34", "12.345"), False),
    (ONE.replace("12.34", "-01.5"), False),
    (ONE.replace("AAPL", "AA.PL"), True),
    (ONE.replace("AAPL", "aapl"), False),
    (ONE.replace("bid", "bid|ask"), False),
    (ONE.replace("bid", ""), False),
    (ONE.replace("7-1", "é😀}{:,"), True),
    (" " + ONE, False),
    (ONE + "\n", False),
    (ONE.replace("12.34", '"12.34"'), False),
    (ONE.replace("12.34", "012.34"), False),
    (ONE.replace("12.34", "null"), False),
    (ONE.replace("7-1", r"7\n1"), False),
    (ONE.replace("7-1", ""), False),
    (ONE.replace("7-1", "7\x011"), False),
    ('{"type":"bid"}', False),
    (json.dumps({name: json.loads(ONE)[name] for name in sorted(json.loads(ONE))}), False),
    (TWO.replace("2", "3", 1), False),
    ("{" + "\x01" * 11, False),
    ("\x01" * 11, False),
    ("", False),
]

plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(lambda s: json.dumps(s, ensure_ascii=False))
escaped = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(json.dumps)
raw = st.text(st.sampled_from('ab1 ",:{}[]\\\x00\x01\n'), max_size=6).map(lambda s: f'"{s}"')
number = st.from_regex(
    r"-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?", fullmatch=True, alphabet="0123456789-+.eE"
)
odd = st.sampled_from(["null", "true", "01", "+1", "1.", "NaN", "{}", "[1]", '"1', "", '{"price":1}'])
value = st.one_of(plain, escaped, raw, number, odd)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A trade of either version in the declared order, with up to two replaced values."""
    members: dict[str, str] = {}
    for member in draw(st.sampled_from([ONE, TWO]))[1:-1].split(","):
        name, text = member.split(":", 1)
        members[name] = text
    for name in draw(st.lists(st.sampled_from(sorted(members)), max_size=2)):
        members[name] = draw(value)
    between, after = draw(st.sampled_from([",", ", ", ",\n", " ,"])), draw(st.sampled_from([":", ": ", " :", "::"]))
    return (
        "{" + between.join(f"{name}{after}{text}" for name, text in members.items()) + draw(st.sampled_from("}}}} ]"))
    )


def records(*values: str) -> list[Record]:
    return [Record("trades", 0, offset, T0, b"AAPL", value.encode()) for offset, value in enumerate(values)]


def test_only_records_of_the_declared_form_match_the_pattern(spark: SparkSession) -> None:
    assert isinstance(TRADES.format, Json)
    parts = declared_form.matched_members(TRADES, TRADES.format, json_names(TRADES.format))
    frame = from_kafka(spark, records(*(text for text, _ in SHAPED))).select(
        fn.col("value").cast("string").alias("_text")
    )
    rows = frame.select("_text", fn.coalesce(declared_form.matched(parts), fn.lit(False)).alias("matched")).collect()
    assert [(row["_text"], row["matched"]) for row in rows] == SHAPED


@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(texts(), min_size=200, max_size=200))
def test_the_pattern_and_the_parser_read_the_same(decoder: Decoder, values: list[str]) -> None:
    """A leading space means nothing in JSON, but the pattern does not match it."""
    rows = dicts(decoder.rows(TRADES, records(*values, *(f" {text}" for text in values))))
    by_form, parsed = rows[: len(values)], rows[len(values) :]
    for text, a, b in zip(values, by_form, parsed, strict=True):
        assert _read(a) == _read(b), text


def _read(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("_value", "_offset")}
