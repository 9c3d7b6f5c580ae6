"""The events of keyed views as a run stores them: each packed into one text, filtered by key hash and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyspark.sql
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.keyed_rows import source_columns, source_rows
from core.measures import Column
from core.positions import RecordPosition
from core.topic import EVENT_TIME, Topic
from core.view import Keyed

SOURCE, HASH, TIME, EVENT = "_source", "_hash", "_time", "_event"
PACKED_COLUMNS = (Column(SOURCE, "string"), Column(HASH, "bigint"), Column(TIME, "bigint"), Column(EVENT, "string"))


def pack(view: Keyed, topic: Topic, events: DataFrame) -> DataFrame:
    """The source rows of decoded events in ``PACKED_COLUMNS``: topic, hash of the key, epoch milliseconds, JSON."""
    rows = source_rows(view, topic, events)
    values = [_plain(column) for column in source_columns(view, topic)]
    return rows.select(
        fn.lit(topic.name).alias(SOURCE),
        fn.xxhash64(*(fn.col(key.name) for key in view.keys)).alias(HASH),
        fn.unix_millis(EVENT_TIME).alias(TIME),
        fn.to_json(fn.struct(*values)).alias(EVENT),
    )


def unpack(view: Keyed, topic: Topic, events: DataFrame) -> DataFrame:
    """The source rows of packed events; only the column ``EVENT`` is read."""
    columns = source_columns(view, topic)
    parsed = events.select(fn.from_json(EVENT, f"struct<{_ddl(columns)}>").alias("_is"))
    return parsed.select("_is.*").select(*map(_typed, columns))


def inlined(view: Keyed, topic: Topic, texts: DataFrame) -> DataFrame:
    """The source rows of a column ``content`` of JSON arrays, each of packed events of one topic."""
    return _inlined(source_columns(view, topic), texts)


def keys_and_times(view: Keyed, texts: DataFrame) -> DataFrame:
    """Keys and event times of a column ``content`` of JSON arrays, each of packed events of all topics."""
    keys = [Column(key.name, key.type) for key in view.keys]
    return _inlined([*keys, Column(EVENT_TIME, "timestamp")], texts)


def _inlined(columns: Sequence[Column], texts: DataFrame) -> DataFrame:
    parsed = fn.from_json(fn.col("content").cast("string"), f"array<struct<{_ddl(columns)}>>")
    return texts.select(fn.inline(parsed)).select(*map(_typed, columns))


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{c.name}`: {'bigint' if c.type == 'timestamp' else c.type}" for c in columns)


def _plain(column: Column) -> pyspark.sql.Column:
    value = fn.col(column.name)
    return (fn.unix_micros(value) if column.type == "timestamp" else value).alias(column.name)


def _typed(column: Column) -> pyspark.sql.Column:
    value = fn.col(column.name)
    return (fn.timestamp_micros(value) if column.type == "timestamp" else value).alias(column.name)


def position_of(event: Mapping[str, Any]) -> RecordPosition:
    """Where the record of an event is, from the JSON of its packed event."""
    return RecordPosition(event["_topic"], event["_partition"], event["_offset"])
