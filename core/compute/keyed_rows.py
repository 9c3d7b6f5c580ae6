"""Computes the rows of a keyed view from the events of its units; batch, speed and replay share this code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import pyspark.sql
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from core.compute.segments import influenced_segments, owning_segment
from core.compute.stored_values import stored, stored_value
from core.event_columns import ERROR, decoded_columns
from core.measures import Column
from core.sql_names import mentions
from core.topic import EVENT_TIME, Topic
from core.view import ROWS, SEGMENT, Keyed

PLACE = ("_topic", "_partition", "_offset")


def source_columns(view: Keyed, topic: Topic) -> tuple[Column, ...]:
    """The columns of a topic's events that a view needs: position, time, the keys and the columns that its query names.

    A column counts as named if its name occurs anywhere in the query: that may be one too many, never one too few.
    """
    keys = {key.name: key.type for key in view.keys}
    always = {*PLACE, EVENT_TIME}
    named = {
        name: kind
        for name, kind in decoded_columns(topic).items()
        if name != ERROR and name not in keys and (name in always or mentions(view.query, name))
    }
    return tuple(Column(name, kind) for name, kind in {**named, **keys}.items())


def source_rows(view: Keyed, topic: Topic, events: DataFrame) -> DataFrame:
    """The valid events of one topic that have a key, in ``source_columns``."""
    keys = {key.name: stored_value(fn.expr(key.expr), key.type) for key in view.keys}
    columns = [keys.get(column.name, fn.col(column.name)).alias(column.name) for column in source_columns(view, topic)]
    return events.where(fn.col(ERROR).isNull()).select(*columns).where(_has_key(view))


def result_rows(view: Keyed, rows: Mapping[str, DataFrame]) -> DataFrame:
    """The result of the query over the rows of every source, as stored columns, with the segment that owns each row."""
    session = next(iter(rows.values())).sparkSession
    results = session.sql(view.query, None, **rows)
    return results.select(*map(stored, view.identifying_columns)).withColumns(
        {SEGMENT: owning_segment(view), ROWS: fn.lit(1).cast("bigint")}
    )


def touched_units(view: Keyed, rows: Sequence[DataFrame]) -> DataFrame:
    """The units whose rows these events may change, each once."""
    keys = [key.name for key in view.keys]
    units = [frame.select(*keys, fn.explode(influenced_segments(view)).alias(SEGMENT)) for frame in rows]
    return reduce(DataFrame.unionAll, units).distinct()


def rows_of_units(view: Keyed, units: DataFrame, results: DataFrame) -> DataFrame:
    """The result rows of these units; a unit without rows becomes one row with the count 0."""
    names = [column.name for column in view.unit_columns]
    joined = units.join(results, names, "left").withColumn(ROWS, fn.coalesce(ROWS, fn.lit(0).cast("bigint")))
    return joined.select(*(column.name for column in view.stored_columns))


def newest_rows(view: Keyed, parts: DataFrame) -> DataFrame:
    """The rows of the newest epoch of each unit, with all columns; ``parts`` have ``last_epoch``."""
    unit = Window.partitionBy(*(column.name for column in view.unit_columns))
    ranked = parts.withColumn("_newest", fn.max("last_epoch").over(unit))
    return ranked.where(fn.col("last_epoch") == fn.col("_newest")).drop("_newest")


def _has_key(view: Keyed) -> pyspark.sql.Column:
    return reduce(lambda a, b: a & b, (fn.col(key.name).isNotNull() for key in view.keys))
