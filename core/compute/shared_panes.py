"""Computes several rollup views with one aggregation: events are grouped once, by the smallest pane of the views.

Partial results add up however events are split, so the panes give the partial rows of every view. The idea of
shared panes: Krishnamurthy, Wu, Franklin, "On-the-fly sharing for streamed aggregation", 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.compute.large_records import LARGE, LARGE_COUNT
from core.compute.partial_rows import PANE, as_columns, combine, in_windows, pane_start, with_order
from core.compute.stored_values import stored_value
from core.event_columns import ERROR, RAW_COLUMNS
from core.measures import BLOCK, ORDER
from core.topic import EVENT_TIME
from core.view import ROWS, Rollup

_PLACE = ("_topic", "_partition")
_BAD = "_bad"  # the whole record if it is invalid, else null; a large one without its bytes
_FIRST, _LAST = "_first_offset", "_last_offset"


def can_share(views: Sequence[Rollup]) -> bool:
    """Whether the views can share panes: equal keys, no filter, no explode, and panes that nest.

    Their topic must not be compacted.
    """
    keys = {tuple((key.expr, key.type) for key in view.keys) for view in views}
    unfiltered = all(view.where is None and view.explode is None for view in views)
    by_event_time = all(view.window is None or view.window.over == EVENT_TIME for view in views)
    sizes = [view.window.pane for view in views if view.window]
    return len(keys) == 1 and unfiltered and by_event_time and all(size % min(sizes) == 0 for size in sizes)


def pane_rows(views: Sequence[Rollup], events: DataFrame) -> DataFrame:
    """Decoded rows of one topic, aggregated per partition, key and smallest pane; an invalid record stays a whole row.

    The views must satisfy ``can_share``. The rows come from ``cut_large``.
    """
    keys = [stored_value(fn.expr(key.expr), key.type).alias(f"_key{n}") for n, key in enumerate(views[0].keys)]
    sizes = [view.window.pane for view in views if view.window]
    panes = [pane_start(fn.unix_millis(EVENT_TIME), min(sizes)).alias(PANE)] if sizes else []
    blocks = (
        as_columns(BLOCK) if any(m.by_block for view in views for m in view.measures) else list(map(fn.col, _PLACE))
    )
    bad = fn.when(fn.col(ERROR).isNotNull(), fn.struct(*RAW_COLUMNS, LARGE)).alias(_BAD)
    values = {f"{view.name}__{name}": sql for view in views for m in view.measures for name, sql in m.aggregate.items()}
    frame = with_order(views[0], events, ORDER).groupBy(*blocks, *keys, *panes, bad, fn.col(ERROR))
    offsets = fn.min("_offset").alias(_FIRST), fn.max("_offset").alias(_LAST)
    return frame.agg(*as_columns(values), fn.count(fn.lit(1)).alias(ROWS), *offsets)


def partial_from_panes(view: Rollup, panes: DataFrame) -> DataFrame:
    """The partial rows that ``core.compute.partial_rows.partial`` computes from the events of the panes."""
    names = [name for measure in view.measures for name in measure.aggregate]
    blocks = [name for name in BLOCK if name in panes.columns]
    valid = panes.where(fn.col(ERROR).isNull()).select(
        *(fn.col(f"_key{n}").alias(key.name) for n, key in enumerate(view.keys)),
        *([pane_start(fn.col(PANE), view.window.pane).alias(PANE)] if view.window else []),
        *blocks,
        *(fn.col(f"{view.name}__{name}").alias(name) for name in names),
        ROWS,
    )
    return combine(view, in_windows(view, valid))


def counts_from_panes(views: Sequence[Rollup], panes: DataFrame) -> DataFrame:
    """The counts that ``core.compute.partial_rows.record_counts`` computes from the events of the panes.

    Also gives ``bytes_<view>``, an upper bound for the size of the partial rows of a view.
    """
    records, is_valid = fn.col(ROWS), fn.col(ERROR).isNull()
    return panes.groupBy(*_PLACE).agg(
        fn.sum(records).alias("records"),
        _total(is_valid, records).alias("decoded"),
        _total(~is_valid, records).alias("quarantined"),
        fn.min(_FIRST).alias("first_offset"),
        fn.max(_LAST).alias("last_offset"),
        _total(fn.col(_BAD)[LARGE], records).alias(LARGE_COUNT),
        *(_total(is_valid, records * fn.lit(_copies(view))).alias(f"rows_{view.name}") for view in views),
        *((fn.count_if(is_valid) * _width(view, panes)).alias(f"bytes_{view.name}") for view in views),
    )


def bad_records(panes: DataFrame) -> DataFrame:
    """The invalid records that are not large, as Kafka delivered them, with the names of the broken rules."""
    bad = panes.where(fn.col(ERROR).isNotNull() & ~fn.col(_BAD)[LARGE])
    return bad.select(*(fn.col(_BAD)[name].alias(name) for name in RAW_COLUMNS), ERROR)


def _copies(view: Rollup) -> int:
    return view.window.copies if view.window else 1


def _width(view: Rollup, panes: DataFrame) -> Column:
    """The bytes of a pane's rows in a view: 16 per column, plus the longest value of each text column."""
    columns = [f"_key{n}" for n in range(len(view.keys))]
    columns += [f"{view.name}__{name}" for measure in view.measures for name in measure.aggregate]
    texts = [name for name, kind in panes.dtypes if name in columns and kind in ("string", "binary")]
    lengths = [fn.coalesce(fn.max(fn.octet_length(name)), fn.lit(0)) for name in texts]
    fixed = fn.lit(16 * len(view.stored_columns)).cast("bigint")
    return fn.lit(_copies(view)) * reduce(Column.__add__, lengths, fixed)


def _total(condition: Column, value: Column) -> Column:
    return fn.coalesce(fn.sum(fn.when(condition, value)), fn.lit(0))
