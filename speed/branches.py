"""What one epoch computes for one topic: the ledger, the bad records, and a partial for each view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.decode import ERROR, RAW_COLUMNS, decode
from core.ident import Name
from core.partial import ledger, partial
from core.view import View

LEDGER = "_ledger"
QUARANTINE = "_quarantine"


@dataclass(frozen=True)
class Branch:
    """One result of one topic: LEDGER, QUARANTINE or the name of a view."""

    topic: Name
    part: str
    frame: DataFrame


def decoded(catalog: Catalog, topic: Name, records: DataFrame) -> DataFrame:
    """The records of one topic, decoded."""
    return decode(catalog.topic(topic), records.where(fn.col("topic") == fn.lit(str(topic))))


def branches(topic: Name, views: Sequence[View], events: DataFrame) -> list[Branch]:
    """Every result of one topic's decoded rows; ``views`` are those of the run that read it."""
    bad = events.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR)
    partials = [Branch(topic, view.name, partial(view, events)) for view in views]
    return [Branch(topic, LEDGER, ledger(views, events)), Branch(topic, QUARANTINE, bad), *partials]
