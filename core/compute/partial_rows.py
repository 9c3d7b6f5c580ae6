"""Computes partial rows of a rollup view and combines them; batch, speed and replay share this code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.compute.stored_values import stored, stored_value
from core.event_columns import ERROR
from core.identifiers import Name
from core.measures import BLOCK, LOG_ORDER, ORDER
from core.record_counts import RecordCounts, Totals
from core.sql_names import spliced
from core.topic import EVENT_TIME, Topic
from core.view import PROCESSING_TIME, ROWS, Keyed, Rollup, View, Window

_ELEMENT = "_element"  # position of the exploded element in its event
PANE = "_pane"  # start of the pane in epoch milliseconds, until it becomes the window's column


def view_rows(view: Rollup, events: DataFrame) -> DataFrame:
    """The view rows of decoded records of one topic: exploded, then filtered; invalid records have no event time."""
    frame = events.where(fn.col(EVENT_TIME).isNotNull())
    if view.explode is not None:
        frame = frame.select("*", fn.posexplode(fn.expr(view.explode.expr)).alias(_ELEMENT, view.explode.name))
    return frame if view.where is None else frame.where(view.where)


def partial(view: Rollup, topic: Topic, events: DataFrame) -> DataFrame:
    """Aggregates decoded rows of a topic to ``view.stored_columns``: first per pane and block, then per window."""
    frame = with_order(view, view_rows(view, events), LOG_ORDER if topic.compacted else ORDER)
    keys = [stored_value(fn.expr(key.expr), key.type).alias(key.name) for key in view.keys]
    if view.window is not None:
        keys.append(_pane(view.window).alias(PANE))
    by_block = any(measure.by_block for measure in view.measures)
    blocks = as_columns(BLOCK) if by_block else []
    values = as_columns({name: sql for measure in view.measures for name, sql in measure.aggregate.items()})
    parts = in_windows(view, frame.groupBy(*keys, *blocks).agg(*values, fn.count(fn.lit(1)).alias(ROWS)))
    return combine(view, parts) if by_block or (view.window and view.window.copies > 1) else parts


def in_windows(view: Rollup, panes: DataFrame) -> DataFrame:
    """Aggregated panes as stored columns, one row for each window that contains the pane."""
    frame = panes if view.window is None else _windows(view.window, panes)
    finish = {name: sql for measure in view.measures for name, sql in measure.finish.items()}
    return _declared(view, frame.withColumns({name: fn.expr(sql) for name, sql in finish.items()}))


def combine(view: Rollup, parts: DataFrame) -> DataFrame:
    """Merges partial rows of the view per key."""
    keys = [stored(column) for column in view.key_columns]
    merged = {name: sql for measure in view.measures for name, sql in measure.combine.items()}
    return _declared(view, parts.groupBy(*keys).agg(*as_columns({**merged, ROWS: f"sum({ROWS})"})))


def combined(view: Rollup, parts: Sequence[DataFrame]) -> DataFrame:
    """The partial rows of one part as they are, of several merged per key."""
    if len(parts) == 1:
        return parts[0]
    columns = [column.name for column in view.stored_columns]
    return combine(view, reduce(DataFrame.unionByName, (part.select(*columns) for part in parts)))


def record_counts(views: Iterable[View], events: DataFrame, more: Iterable[Column] = ()) -> DataFrame:
    """Records, decoded, quarantined, first and last offset per partition, and ``rows_<view>`` for each view.

    View rows are counted per event, without the grouping of the view, so that the counts check it. For a keyed view
    they are the events that have a key. ``more`` are other aggregates of the partition.
    """
    counted = [fn.coalesce(fn.sum(_rows_per_event(view)), fn.lit(0)).alias(f"rows_{view.name}") for view in views]
    return events.groupBy("_topic", "_partition").agg(
        fn.count(fn.lit(1)).alias("records"),
        fn.count_if(fn.col(ERROR).isNull()).alias("decoded"),
        fn.count_if(fn.col(ERROR).isNotNull()).alias("quarantined"),
        fn.min("_offset").alias("first_offset"),
        fn.max("_offset").alias("last_offset"),
        *counted,
        *more,
    )


def totals_of(rows: Iterable[Mapping[str, Any]], views: Iterable[str]) -> Totals:
    """The totals of collected rows of ``record_counts``, of any topics.

    Rows of a topic that a view does not read have no column of the view.
    """
    counted = list(rows)
    partitions = {
        f"{row['_topic']}/{row['_partition']}": RecordCounts(row["records"], row["decoded"], row["quarantined"])
        for row in counted
    }
    return Totals(partitions, {Name(view): sum(row.get(f"rows_{view}", 0) for row in counted) for view in views})


def _rows_per_event(view: View) -> Column:
    """The number of view rows that one event gives; 0 for a record that is none."""
    return fn.expr(_keyed(view) if isinstance(view, Keyed) else _rolled_up(view))


def _keyed(view: Keyed) -> str:
    keys = " and ".join(f"({spliced(key.expr)}) is not null" for key in view.keys)
    return f"case when {ERROR} is null and {keys} then 1L else 0L end"


def _rolled_up(view: Rollup) -> str:
    where = f"coalesce({spliced(view.where)}, false)" if view.where else "true"
    if view.explode is None:
        elements = f"case when {where} then 1 else 0 end"
    else:
        elements = f"coalesce(size(filter({spliced(view.explode.expr)}, {view.explode.name} -> {where})), 0)"
    copies = view.window.copies if view.window else 1
    return f"case when {EVENT_TIME} is not null then cast({elements} as bigint) * {copies} else 0 end"


def _pane(window: Window) -> Column:
    """The pane of a row. For processing time it is 0 until the epoch sets it."""
    if window.over == PROCESSING_TIME:
        return fn.lit(0).cast("bigint")
    return pane_start(fn.unix_millis(window.over), window.pane)


def pane_start(millis: Column, size: int) -> Column:
    """The largest multiple of ``size`` at or before ``millis``, also for times before 1970."""
    return millis - fn.pmod(millis, fn.lit(size).cast("bigint"))


def with_order(view: Rollup, frame: DataFrame, order: dict[str, str]) -> DataFrame:
    """Adds the order of rows in a block: ``_nth``, and ``_order``, which also orders the elements of one event."""
    frame = frame.withColumns({name: fn.expr(sql) for name, sql in order.items()})
    nth = fn.col("_nth")
    return frame.withColumn("_order", fn.struct(nth, _ELEMENT) if view.explode else nth)


def as_columns(columns: dict[str, str]) -> list[Column]:
    """Columns from a map of name to SQL."""
    return [fn.expr(sql).alias(name) for name, sql in columns.items()]


def _windows(window: Window, frame: DataFrame) -> DataFrame:
    """One row for each window that contains the pane."""
    if window.copies > 1:
        frame = frame.withColumn("_hop", fn.explode(fn.sequence(fn.lit(0), fn.lit(window.copies - 1))))
        frame = frame.withColumn(PANE, fn.col(PANE) - fn.col("_hop") * fn.lit(window.pane).cast("bigint"))
    return frame.withColumn(window.name, fn.timestamp_millis(PANE))


def _declared(view: Rollup, frame: DataFrame) -> DataFrame:
    return frame.select(*map(stored, view.stored_columns))
