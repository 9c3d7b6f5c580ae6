"""The segments of a keyed view: fixed spans of event time that the view's reach declares.

A view without a reach has one segment, 0, for each key.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core.compute.partial_rows import pane_start
from core.topic import EVENT_TIME
from core.view import Keyed


def influenced_segments(view: Keyed) -> Column:
    """The segments that an event may influence, as an array: those of all anchors within its reach."""
    if view.reach is None:
        return fn.array(fn.lit(0).cast("bigint"))
    at, size = fn.unix_millis(EVENT_TIME), view.reach.segment
    first, last = pane_start(at - view.reach.after, size), pane_start(at + view.reach.before, size)
    return fn.sequence(first, last, fn.lit(size).cast("bigint"))


def owning_segment(view: Keyed) -> Column:
    """The segment that a result row belongs to: that of its anchor. Spark raises an error for a null anchor."""
    if view.reach is None:
        return fn.lit(0).cast("bigint")
    anchor = fn.unix_millis(view.reach.anchor)
    no_anchor = fn.raise_error(
        fn.lit(f"a row of {view.name} has a null {view.reach.anchor}, which is the anchor of its reach")
    )
    return fn.coalesce(pane_start(anchor, view.reach.segment), no_anchor.cast("bigint"))


def reach_width(view: Keyed) -> int:
    """How many milliseconds away from an event others can be that count in the segments that it touches."""
    assert view.reach is not None
    return view.reach.before + view.reach.after + view.reach.segment
