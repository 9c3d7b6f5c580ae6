"""Recomputes the windows of a view that start in a time range."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.compute.partial_rows import combined, partial
from core.range_rebuild import RangeRebuild
from core.topic import EVENT_TIME, Topic
from core.unix_time import UNIX_EPOCH
from core.view import Rollup, Window


def starts_in_range(window: Window, rebuild: RangeRebuild) -> Column:
    """Whether a row's window starts in the range."""
    start = fn.col(window.name)
    return fn.coalesce((start >= _timestamp(rebuild.first)) & (start < _timestamp(rebuild.end)), fn.lit(False))


def rebuilt(
    view: Rollup, rebuild: RangeRebuild, base: DataFrame, events: Sequence[tuple[Topic, DataFrame]]
) -> DataFrame:
    """The rows of ``base`` outside the range, and inside it rows computed from the decoded rows of each source."""
    window = view.window
    assert window is not None
    within = starts_in_range(window, rebuild)
    reach = timedelta(milliseconds=window.size - window.pane)  # its last window starts one pane before the range's end
    wide = (fn.col(EVENT_TIME) >= _timestamp(rebuild.first)) & (fn.col(EVENT_TIME) < _timestamp(rebuild.end + reach))
    parts = [partial(view, topic, frame.where(wide)).where(within) for topic, frame in events]
    recomputed = combined(view, parts)
    columns = [column.name for column in view.stored_columns]
    return base.where(~within).select(*columns).unionByName(recomputed.select(*columns))


def starts_around(window: Window, at: datetime) -> tuple[datetime, datetime]:
    """The last window start at or before a time, and the first one at or after it."""
    pane = timedelta(milliseconds=window.pane)
    below = at - (at - UNIX_EPOCH) % pane
    return below, below if below == at else below + pane


def _timestamp(time: datetime) -> Column:
    return fn.timestamp_micros(fn.lit((time - UNIX_EPOCH) // timedelta(microseconds=1)))
