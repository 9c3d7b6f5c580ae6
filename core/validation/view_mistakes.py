"""Mistakes in a view that can be found without Spark."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from typing import Any

from core.event_columns import decoded_columns
from core.gate_checks import DEFAULTS
from core.measures import Count, First, Latest, Max, Measure, Min, Sum
from core.topic import EVENT_TIME, Topic
from core.validation.mistake import Mistake, column_names, mistake_in, name_mistakes, source_mistakes, type_mistake
from core.view import APPEND_TIME, PROCESSING_TIME, Fresh, Keyed, Reach, Rollup, Total, View, Window

COLUMN_TYPES = ("string", "bigint", "int", "boolean", "date", "timestamp")  # and decimal(p,s)
MOST_COPIES = 3_600
_MEASURES = (Count, Sum, Min, Max, Latest)


def view_mistakes(view: View, topics: Mapping[str, Topic]) -> Iterator[Mistake]:
    """Every mistake of a view; ``topics`` are all topics."""
    yield from _any_view(view, topics)
    yield from _keyed(view) if isinstance(view, Keyed) else _rollup(view, topics)


def total_mistakes(view: View, views: Mapping[str, View]) -> Iterator[Mistake]:
    """Totals whose other view does not exist or is in no build."""
    for check in view.checks:
        if isinstance(check, Total) and (check.other not in views or not views[check.other].reproducible):
            yield mistake_in(check, f"there is no view {check.other!r} that builds contain")


def _any_view(view: View, topics: Mapping[str, Topic]) -> Iterator[Mistake]:
    yield from name_mistakes(view, view.name)
    if view.name == "status":
        yield mistake_in(view, "the name 'status' is taken by the table serving.status; choose another name")
    yield from source_mistakes(view, topics)
    yield from _checks(view)
    for key in view.keys:
        yield from _column(key, key.type)
    for source in view.sources:
        if source in topics and topics[source].compacted and not _is_latest(view, topics[source]):
            yield mistake_in(
                view,
                f"topic {source!r} is compacted: a view of it may only have Latest measures per key of the topic, "
                "and no other source",
            )


def _checks(view: View) -> Iterator[Mistake]:
    yield from column_names(view.checks, "check")
    for check in view.checks:
        if check.name in DEFAULTS:
            yield mistake_in(check, f"every view has a check {check.name!r}; choose another name")
        if isinstance(check, Fresh) and check.within < 1:
            yield mistake_in(check, "within must be at least 1 millisecond")
        if isinstance(check, Total) and check.other == view.name:
            yield mistake_in(check, "a total must compare the view with another view")


def _is_latest(view: View, topic: Topic) -> bool:
    """Whether a view does not depend on records that compaction removes."""
    if not isinstance(view, Rollup) or view.window or view.where or view.explode or len(view.sources) > 1:
        return False
    only_latest = all(isinstance(measure, Latest) and not isinstance(measure, First) for measure in view.measures)
    return only_latest and [key.expr for key in view.keys] == [topic.key]


def _rollup(view: Rollup, topics: Mapping[str, Topic]) -> Iterator[Mistake]:
    if not view.key_columns:
        yield mistake_in(view, "a rollup needs at least one key or a window")
    window = (view.window,) if view.window else ()
    yield from column_names((*view.keys, *window, *view.measures, *view.shown), "column")
    if view.window is not None:
        yield from _window(view.window)
    if view.window is not None and view.window.over == APPEND_TIME:
        unknown = [source for source in view.sources if source in topics and not topics[source].append_time]
        yield from (
            mistake_in(view.window, f"topic {source!r} has no append times; set append_time=True in its file")
            for source in unknown
        )
    for measure in view.measures:
        yield from _measure(measure)
    yield from _exploded(view, topics)


def _keyed(view: Keyed) -> Iterator[Mistake]:
    if not view.keys:
        yield mistake_in(view, "a keyed view needs at least one key")
    yield from column_names((*view.keys, *view.results, *view.shown), "column")
    for result in view.results:
        yield from _column(result, result.type)
    try:
        read = {name for _, name, _, _ in string.Formatter().parse(view.query) if name is not None}
    except ValueError as e:
        yield mistake_in(view, f"query: {e}; braces may only contain the name of a topic")
        return
    for name in sorted(read ^ set(view.sources)):
        yield mistake_in(
            view,
            f"query reads {{{name}}}, which is not a source" if name in read else f"query does not read {{{name}}}",
        )
    if view.reach is not None:
        yield from _reach(view, view.reach)


def _reach(view: Keyed, reach: Reach) -> Iterator[Mistake]:
    types = {result.name: result.type for result in view.results}
    if types.get(reach.anchor) != "timestamp":
        yield mistake_in(reach, f"anchor {reach.anchor!r} is not a result of type timestamp")
    if reach.before < 0 or reach.after < 0 or reach.segment < 1:
        yield mistake_in(reach, "before and after must be at least 0 milliseconds, segment at least 1")
    elif (reach.before + reach.after) // reach.segment >= MOST_COPIES:
        yield mistake_in(reach, f"an event would be in more than {MOST_COPIES} segments; make segment longer")


def _window(window: Window) -> Iterator[Mistake]:
    if window.over not in (EVENT_TIME, APPEND_TIME, PROCESSING_TIME):
        yield mistake_in(window, f"over {window.over!r} must be one of EVENT_TIME, APPEND_TIME, PROCESSING_TIME")
    elif window.over == PROCESSING_TIME and window.hop is not None:
        yield mistake_in(window, "windows of processing time cannot have a hop")
    if window.size < 1 or window.pane < 1:
        yield mistake_in(window, "size and hop must be at least 1 millisecond")
    elif window.size % window.pane:
        yield mistake_in(window, f"hop {window.pane} does not divide size {window.size}")
    elif window.copies > MOST_COPIES:
        yield mistake_in(window, f"an event would be in {window.copies} windows; at most {MOST_COPIES} are allowed")


def _measure(measure: Measure) -> Iterator[Mistake]:
    if not isinstance(measure, _MEASURES):
        yield mistake_in(
            measure, f"a measure must be a Count, Sum, Min, Max, Latest or First, not a {type(measure).__name__}"
        )
        return
    if not measure.of and not isinstance(measure, Count):
        yield mistake_in(measure, "the measure needs an expression")
    if isinstance(measure, Sum) and not 0 <= measure.scale <= 18:
        yield mistake_in(measure, "scale must be from 0 to 18")
    if isinstance(measure, Min | Max | Latest):
        yield from _column(measure, measure.type)


def _column(part: Any, kind: str) -> Iterator[Mistake]:
    if mistake := type_mistake(part, kind, COLUMN_TYPES):
        yield mistake


def _exploded(view: Rollup, topics: Mapping[str, Topic]) -> Iterator[Mistake]:
    if view.explode is None:
        return
    yield from name_mistakes(view.explode, view.explode.name)
    for source in view.sources:
        columns = decoded_columns(topics[source]) if source in topics else {}
        if view.explode.name in columns:
            yield mistake_in(
                view.explode, f"topic {source!r} already has a column {view.explode.name!r}; choose another name"
            )
