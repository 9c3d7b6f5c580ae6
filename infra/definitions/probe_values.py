"""Probe rows: extreme values of decoded events, and hostile texts. The SQL of a definition must not fail on them."""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.decoding.field_types import EARLIEST_MS, LATEST_MS
from core.event_columns import decoded_columns
from core.topic import DECIMAL, EVENT_TIME, Field, Json, Topic, Version

HOSTILE = (None, "", " ", "x", "-", "é", "0", "-1", "1e999", "9" * 40, "0.001", "NaN", "{}", "2020-13-45", "true")


def texts_of(spark: SparkSession, version: Version, json: Json) -> DataFrame:
    """A row for each hostile text, in which every JSON name of a version has that text."""
    names = dict.fromkeys((json.version_name, *version.names))
    rows = spark.createDataFrame([(text,) for text in HOSTILE], "_text string")
    return rows.select(*(fn.col("_text").alias(name) for name in names))


def events_of(spark: SparkSession, topic: Topic) -> DataFrame:
    """Six decoded rows whose fields are smallest, largest or null, within the declared bounds.

    In the last two, every second field is largest where the others are smallest: a difference is then extreme.
    """
    columns = {name: fn.lit(None).cast(kind) for name, kind in decoded_columns(topic).items()}
    columns |= {field.name: _cycle(field, number % 2 == 1) for number, field in enumerate(topic.fields)}
    source = columns.get(topic.event_time or "", _pick(_time(EARLIEST_MS), _time(LATEST_MS - 1)))
    columns[EVENT_TIME] = source
    return spark.range(6).select(*(column.alias(name) for name, column in columns.items()))


def _cycle(field: Field, is_odd: bool) -> Column:
    low, high = _bounds(field)
    picked = _pick(low, high)
    if is_odd:
        picked = fn.when(fn.col("id") < 4, picked).otherwise(_pick(high, low))
    if not field.required:
        picked = fn.when((fn.col("id") < 2) | (fn.col("id") >= 4), picked)
    return picked.cast(field.type)


def _pick(low: Column, high: Column) -> Column:
    return fn.when(fn.col("id") % 2 == 0, low).otherwise(high)


def _time(millis: int) -> Column:
    return fn.timestamp_millis(fn.lit(millis))


def _bounds(field: Field) -> tuple[Column, Column]:
    if field.type == "timestamp":
        return _time(EARLIEST_MS), _time(LATEST_MS - 1)
    if field.type == "boolean":
        return fn.lit(False), fn.lit(True)
    if field.type == "string":
        # No text is known to match a pattern.
        return (fn.lit(None), fn.lit(None)) if field.pattern else (fn.lit(""), fn.lit("é" * 50))
    decimal = DECIMAL.match(field.type)
    precision, scale = (int(decimal[1]), int(decimal[2])) if decimal else (18, 0)
    largest = Decimal(10**precision - 1).scaleb(-scale)
    low, high = field.minimum or f"{-largest:f}", field.maximum or f"{largest:f}"
    return fn.lit(low).cast(field.type), fn.lit(high).cast(field.type)
