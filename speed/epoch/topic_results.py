"""What one epoch computes for one topic: the ledger, the bad records, and a partial for each view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.keyed_events import pack
from core.compute.rollup import partial, record_counts
from core.compute.shared_panes import bad_records, can_share, counts_from_panes, pane_rows, partial_from_panes
from core.event_columns import ERROR, RAW_COLUMNS
from core.identifiers import Name
from core.topic import EVENT_TIME, Topic
from core.view import Keyed, Rollup, View

LEDGER = "_ledger"
QUARANTINE = "_quarantine"
_ALWAYS = {"_topic", "_partition", "_offset", ERROR, EVENT_TIME}


@dataclass(frozen=True)
class TopicResults:
    """One result of one topic: LEDGER, QUARANTINE or the name of a view; of a keyed view the events that it keeps."""

    topic: Name
    part: str
    frame: DataFrame


def slim(views: Sequence[View], events: DataFrame) -> DataFrame:
    """The decoded rows as they are cached: what a view may name, and the record itself where it is bad.

    A column counts as named when its name is anywhere in a view's definition; that may be too many, never too few.
    """
    named, bad = " ".join(map(repr, views)), fn.col(ERROR).isNotNull()
    used = {column for column in events.columns if re.search(rf"\b{column}\b", named)}
    whole = [fn.col(column) for column in events.columns if column in used | _ALWAYS]
    blanked = [fn.when(bad, fn.col(column)).alias(column) for column in RAW_COLUMNS if column not in used | _ALWAYS]
    return events.select(*whole, *blanked)


def held(topic: Topic, views: Sequence[View], events: DataFrame) -> DataFrame:
    """What is kept of a big epoch's decoded rows: grains where they hold all of the views, else the rows, slim."""
    rollups = _alike(topic, views)
    return pane_rows(rollups, events) if rollups else slim(views, events)


def branches_of(topic: Topic, views: Sequence[View], kept: DataFrame) -> list[TopicResults]:
    """Every result of one topic, from what ``held`` gave."""
    rollups, name = _alike(topic, views), Name(topic.name)
    if not rollups:
        return branches(topic, views, kept)
    partials = [TopicResults(name, view.name, partial_from_panes(view, kept)) for view in rollups]
    return [
        TopicResults(name, LEDGER, counts_from_panes(rollups, kept)),
        TopicResults(name, QUARANTINE, bad_records(kept)),
        *partials,
    ]


def branches(topic: Topic, views: Sequence[View], events: DataFrame) -> list[TopicResults]:
    """Every result of one topic's decoded rows; ``views`` are those of the run that read it."""
    name = Name(topic.name)
    bad = events.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR)
    found = [TopicResults(name, view.name, _of(view, topic, events)) for view in views]
    return [TopicResults(name, LEDGER, record_counts(views, events)), TopicResults(name, QUARANTINE, bad), *found]


def _of(view: View, topic: Topic, events: DataFrame) -> DataFrame:
    return pack(view, topic, events) if isinstance(view, Keyed) else partial(view, events)


def _alike(topic: Topic, views: Sequence[View]) -> list[Rollup]:
    """The views when grains hold them all, else none."""
    rollups = [view for view in views if isinstance(view, Rollup)]
    plain = len(rollups) == len(views) and not topic.compacted  # whose bad records count, too
    return rollups if plain and can_share(rollups) else []
