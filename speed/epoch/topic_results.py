"""What one epoch computes for one topic: record counts, bad records, and the partial rows of each view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.compute.keyed_events import pack
from core.compute.large_records import LARGE, LARGE_COUNT, cut_large, large_records
from core.compute.partial_rows import partial, record_counts
from core.compute.shared_panes import bad_records, can_share, counts_from_panes, pane_rows, partial_from_panes
from core.event_columns import ERROR, RAW_COLUMNS
from core.identifiers import Name
from core.sql_names import mentions, texts_of
from core.topic import EVENT_TIME, Topic
from core.view import PROCESSING_TIME, Keyed, Rollup, View

COUNTS = "_counts"
QUARANTINE = "_quarantine"
LONGEST_TEXT = "longest_text"
_ALWAYS = {"_topic", "_partition", "_offset", ERROR, EVENT_TIME}


@dataclass(frozen=True)
class Rows:
    """Rows of a result: collected as Arrow, or a DataFrame that Spark still has to compute."""

    table: pa.Table | None = None
    frame: DataFrame | None = None


@dataclass(frozen=True)
class TopicResult:
    """One result of one topic: COUNTS, QUARANTINE or the name of a view; of a keyed view the events that it keeps."""

    topic: Name
    part: str
    frame: DataFrame


def used_columns(views: Sequence[View], events: DataFrame) -> DataFrame:
    """The decoded rows as they are cached: what a view may name, and the record itself where it is bad.

    A column counts as named when its name is anywhere in a view's definition; that may be too many, never too few.
    """
    named, bad = "\n".join(texts_of(views)), fn.col(ERROR).isNotNull()
    used = {column for column in events.columns if mentions(named, column)}
    kept = [fn.col(column) for column in events.columns if column in used | _ALWAYS | {LARGE}]
    blanked = [fn.when(bad, fn.col(column)).alias(column) for column in RAW_COLUMNS if column not in used | _ALWAYS]
    return events.select(*kept, *blanked)


def rows_to_cache(topic: Topic, views: Sequence[View], events: DataFrame) -> DataFrame:
    """The rows of a big epoch to cache: shared panes if all views can use them, else the columns that views use."""
    rollups, cut = _rollups_in_panes(topic, views), cut_large(events)
    return pane_rows(rollups, cut) if rollups else used_columns(views, cut)


def results_of_cached(topic: Topic, views: Sequence[View], kept: DataFrame) -> list[TopicResult]:
    """Every result of one topic, computed from what ``rows_to_cache`` returned, without large bad records."""
    rollups, name = _rollups_in_panes(topic, views), Name(topic.name)
    if not rollups:
        counts, bad, *others = results_of_topic(topic, views, kept)
        more = [fn.count_if(LARGE).alias(LARGE_COUNT), _longest_text(kept)]
        small = _bad_records(kept.where(~fn.col(LARGE)))
        return [replace(counts, frame=record_counts(views, kept, more)), replace(bad, frame=small), *others]
    partials = [TopicResult(name, view.name, partial_from_panes(view, kept)) for view in rollups]
    return [
        TopicResult(name, COUNTS, counts_from_panes(rollups, kept)),
        TopicResult(name, QUARANTINE, bad_records(kept)),
        *partials,
    ]


def results_of_topic(topic: Topic, views: Sequence[View], events: DataFrame) -> list[TopicResult]:
    """Every result of one topic's decoded rows; ``views`` are those of the run that read it."""
    name = Name(topic.name)
    bad = _bad_records(events)
    views_results = [TopicResult(name, view.name, _view_rows(view, topic, events)) for view in views]
    return [TopicResult(name, COUNTS, record_counts(views, events)), TopicResult(name, QUARANTINE, bad), *views_results]


def large_bad_records(topic: Topic, events: DataFrame) -> TopicResult:
    """The large bad records of one topic, from decoded rows that were not cached."""
    return TopicResult(Name(topic.name), QUARANTINE, _bad_records(large_records(events)))


def _bad_records(events: DataFrame) -> DataFrame:
    return events.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR)


def _longest_text(rows: DataFrame) -> Column:
    """The length of the longest text of any event, in bytes: it bounds the size of what is computed from the rows."""
    texts = [name for name, kind in rows.dtypes if kind in ("string", "binary") and name != ERROR]
    valid = fn.col(ERROR).isNull()
    lengths = [fn.coalesce(fn.max(fn.when(valid, fn.octet_length(name))), fn.lit(0)) for name in texts]
    return reduce(lambda a, b: fn.greatest(a, b), lengths, fn.lit(0)).alias(LONGEST_TEXT)


def _view_rows(view: View, topic: Topic, events: DataFrame) -> DataFrame:
    return pack(view, topic, events) if isinstance(view, Keyed) else partial(view, topic, events)


def _rollups_in_panes(topic: Topic, views: Sequence[View]) -> list[Rollup]:
    """The views if shared panes can hold all of them, else none."""
    rollups = [view for view in views if isinstance(view, Rollup)]
    plain = len(rollups) == len(views) and not topic.compacted  # in a compacted topic bad records count, too
    return rollups if plain and can_share(rollups) else []


def in_window(view: View, rows: Rows, processed_ms: int) -> Rows:
    """The rows with the epoch's window of processing time; unchanged for a view without such a window.

    ``processed_ms`` is from the offset log, so a retried epoch has the same window.
    """
    window = getattr(view, "window", None)
    if window is None or window.over != PROCESSING_TIME:
        return rows
    start = processed_ms - processed_ms % window.size
    if rows.frame is not None:
        return Rows(frame=rows.frame.withColumn(window.name, fn.timestamp_millis(fn.lit(start))))
    assert rows.table is not None
    at = rows.table.schema.get_field_index(window.name)
    starts = pa.array(
        [datetime.fromtimestamp(start / 1_000, UTC)] * rows.table.num_rows, rows.table.schema.field(at).type
    )
    return Rows(table=rows.table.set_column(at, window.name, starts))
