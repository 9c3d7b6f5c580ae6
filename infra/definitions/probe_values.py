"""Probe rows: extreme values of decoded events, and hostile texts. The SQL of a definition must not fail on them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import ceil

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.decoding.field_types import EARLIEST_MS, LATEST_MS
from core.event_columns import decoded_columns
from core.topic import DECIMAL, EVENT_TIME, Field, Json, Topic, Version
from infra.definitions.pattern_texts import java_matches, matching_texts

HOSTILE = (None, "", " ", "x", "-", "é", "0", "-1", "1e999", "9" * 40, "0.001", "NaN", "{}", "2020-13-45", "true")
_TEXTS = ("", "é" * 50)
_ROW, _SIX = "_row", "_six"  # a row among its six, and the number of these six


def texts_of(spark: SparkSession, version: Version, json: Json) -> DataFrame:
    """A row for each hostile text, in which every JSON name of a version has that text."""
    names = dict.fromkeys((json.version_name, *version.names))
    rows = spark.createDataFrame([(text,) for text in HOSTILE], "_text string")
    return rows.select(*(fn.col("_text").alias(name) for name in names))


def events_of(spark: SparkSession, topic: Topic, copies: int = 1) -> DataFrame:
    """Decoded rows whose fields are smallest, largest or null, within the declared bounds: six for each two texts.

    In the last two of six, every second field is largest where the others are smallest: a difference is then extreme.
    The first six are there ``copies`` times, so that the sum of a key is extreme.
    """
    texts = {field.name: _texts(spark, field) for field in topic.fields if field.type == "string"}
    own = 6 * max((ceil(len(of_field) / 2) for of_field in texts.values()), default=1)
    columns = {name: fn.lit(None).cast(kind) for name, kind in decoded_columns(topic).items()}
    columns |= {
        field.name: _cycle(field, texts.get(field.name, ()), number % 2 == 1)
        for number, field in enumerate(topic.fields)
    }
    source = columns.get(topic.event_time or "", _pick(_time(EARLIEST_MS), _time(LATEST_MS - 1)))
    columns[EVENT_TIME] = source
    # Rows of one partition need no shuffle to be grouped or joined.
    rows = spark.range(0, own + 6 * (copies - 1), numPartitions=1).select(
        (fn.col("id") % 6).alias(_ROW),
        fn.when(fn.col("id") < own, fn.floor(fn.col("id") / 6)).otherwise(0).cast("int").alias(_SIX),
    )
    return rows.select(*(column.alias(name) for name, column in columns.items()))


def _texts(spark: SparkSession, field: Field) -> Sequence[str]:
    """The texts of a field; none if no text is known to match its pattern."""
    hostile = [text for text in HOSTILE if text is not None]
    return matching_texts(field, hostile, java_matches(spark)) if field.pattern else _TEXTS


def _cycle(field: Field, texts: Sequence[str], is_odd: bool) -> Column:
    low, high = _two_of(texts) if field.type == "string" else _bounds(field)
    row, picked = fn.col(_ROW), _pick(low, high)
    if is_odd:
        picked = fn.when(row < 4, picked).otherwise(_pick(high, low))
    if not field.required:
        picked = fn.when((row < 2) | (row >= 4), picked)
    return picked.cast(field.type)


def _pick(low: Column, high: Column) -> Column:
    return fn.when(fn.col(_ROW) % 2 == 0, low).otherwise(high)


def _two_of(texts: Sequence[str]) -> tuple[Column, Column]:
    """Two texts in each six rows, until all were there."""
    if not texts:
        return fn.lit(None), fn.lit(None)
    every, first = fn.array(*map(fn.lit, texts)), 2 * fn.col(_SIX)
    low, high = (every[(first + n) % len(texts)] for n in (0, 1))
    return low, high


def _time(millis: int) -> Column:
    return fn.timestamp_millis(fn.lit(millis))


def _bounds(field: Field) -> tuple[Column, Column]:
    if field.type == "timestamp":
        return _time(EARLIEST_MS), _time(LATEST_MS - 1)
    if field.type == "boolean":
        return fn.lit(False), fn.lit(True)
    decimal = DECIMAL.match(field.type)
    precision, scale = (int(decimal[1]), int(decimal[2])) if decimal else (18, 0)
    largest = Decimal(10**precision - 1).scaleb(-scale)
    low, high = field.minimum or f"{-largest:f}", field.maximum or f"{largest:f}"
    return fn.lit(low).cast(field.type), fn.lit(high).cast(field.type)
