"""What one epoch computes for one topic: the ledger, the bad records, and a partial for each view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.keyed_events import packed
from core.compute.rollup import ledger, partial
from core.compute.shared_panes import bad_of, grains, ledger_of, partial_of, share
from core.decoding.decode import ERROR, EVENT_TIME, RAW_COLUMNS
from core.identifiers import Name
from core.topic import Topic
from core.view import Keyed, Rollup, View

LEDGER = "_ledger"
QUARANTINE = "_quarantine"
_ALWAYS = {"_topic", "_partition", "_offset", ERROR, EVENT_TIME}


@dataclass(frozen=True)
class Branch:
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
    return grains(rollups, events) if rollups else slim(views, events)


def branches_of(topic: Topic, views: Sequence[View], kept: DataFrame) -> list[Branch]:
    """Every result of one topic, from what ``held`` gave."""
    rollups, name = _alike(topic, views), Name(topic.name)
    if not rollups:
        return branches(topic, views, kept)
    partials = [Branch(name, view.name, partial_of(view, kept)) for view in rollups]
    return [Branch(name, LEDGER, ledger_of(rollups, kept)), Branch(name, QUARANTINE, bad_of(kept)), *partials]


def branches(topic: Topic, views: Sequence[View], events: DataFrame) -> list[Branch]:
    """Every result of one topic's decoded rows; ``views`` are those of the run that read it."""
    name = Name(topic.name)
    bad = events.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR)
    found = [Branch(name, view.name, _of(view, topic, events)) for view in views]
    return [Branch(name, LEDGER, ledger(views, events)), Branch(name, QUARANTINE, bad), *found]


def _of(view: View, topic: Topic, events: DataFrame) -> DataFrame:
    return packed(view, topic, events) if isinstance(view, Keyed) else partial(view, events)


def _alike(topic: Topic, views: Sequence[View]) -> list[Rollup]:
    """The views when grains hold them all, else none."""
    rollups = [view for view in views if isinstance(view, Rollup)]
    plain = len(rollups) == len(views) and not topic.compacted  # whose bad records count, too
    return rollups if plain and share(rollups) else []
