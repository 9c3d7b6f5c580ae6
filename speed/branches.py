"""What one epoch computes for one topic: the ledger, the bad records, and a partial for each view."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.decode import ERROR, EVENT_TIME, RAW_COLUMNS
from core.grain import bad_of, grains, ledger_of, partial_of, share
from core.ident import Name
from core.partial import ledger, partial
from core.view import View

LEDGER = "_ledger"
QUARANTINE = "_quarantine"
_ALWAYS = {"_topic", "_partition", "_offset", ERROR, EVENT_TIME}


@dataclass(frozen=True)
class Branch:
    """One result of one topic: LEDGER, QUARANTINE or the name of a view."""

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


def held(views: Sequence[View], events: DataFrame) -> DataFrame:
    """What is kept of a big epoch's decoded rows: grains where they hold all of the views, else the rows, slim."""
    return grains(views, events) if share(views) else slim(views, events)


def branches_of(topic: Name, views: Sequence[View], kept: DataFrame) -> list[Branch]:
    """Every result of one topic, from what ``held`` gave."""
    if not share(views):
        return branches(topic, views, kept)
    partials = [Branch(topic, view.name, partial_of(view, kept)) for view in views]
    return [Branch(topic, LEDGER, ledger_of(views, kept)), Branch(topic, QUARANTINE, bad_of(kept)), *partials]


def branches(topic: Name, views: Sequence[View], events: DataFrame) -> list[Branch]:
    """Every result of one topic's decoded rows; ``views`` are those of the run that read it."""
    bad = events.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR)
    partials = [Branch(topic, view.name, partial(view, events)) for view in views]
    return [Branch(topic, LEDGER, ledger(views, events)), Branch(topic, QUARANTINE, bad), *partials]
