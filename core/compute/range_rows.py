"""The windows of a view that start in a range, and the events that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.compute.rollup import combine, partial
from core.range_rebuild import RangeRebuild
from core.topic import EVENT_TIME
from core.view import Rollup, Window

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def in_range(window: Window, rebuild: RangeRebuild) -> Column:
    """Whether a row's window starts in the range."""
    start = fn.col(window.name)
    return fn.coalesce((start >= _at(rebuild.first)) & (start < _at(rebuild.end)), fn.lit(False))


def rebuilt(view: Rollup, rebuild: RangeRebuild, base: DataFrame, events: Sequence[DataFrame]) -> DataFrame:
    """The base's rows outside the range, and inside it what decoded rows of each source give."""
    window = view.window
    assert window is not None
    within = in_range(window, rebuild)
    reach = timedelta(milliseconds=window.size - window.pane)  # of the last window, which begins a pane before the end
    wide = (fn.col(EVENT_TIME) >= _at(rebuild.first)) & (fn.col(EVENT_TIME) < _at(rebuild.end + reach))
    parts = [partial(view, frame.where(wide)).where(within) for frame in events]
    anew = parts[0] if len(parts) == 1 else combine(view, reduce(DataFrame.unionByName, parts))
    columns = [column.name for column in view.stored_columns]
    return base.where(~within).select(*columns).unionByName(anew.select(*columns))


def starts_around(window: Window, at: datetime) -> tuple[datetime, datetime]:
    """The last start of a window that is not after a time, and the first that is not before it."""
    pane = timedelta(milliseconds=window.pane)
    below = at - (at - _EPOCH) % pane
    return below, below if below == at else below + pane


def _at(time: datetime) -> Column:
    return fn.timestamp_micros(fn.lit((time - _EPOCH) // timedelta(microseconds=1)))
