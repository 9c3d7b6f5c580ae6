"""Definition of a view, the same for batch, speed, replay and serving. Data only.

A rollup view groups events into measures that add up (core/compute/partial_rows.py). A keyed view is a query over all
events of a unit, which is a key, or a key and a segment of time (core/compute/segments.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from core.checks import AnyCheck
from core.checks import Check as Check
from core.checks import Fresh as Fresh
from core.checks import Total as Total
from core.measures import Column, Measure
from core.topic import EVENT_TIME

ROWS = "_rows"  # hidden column: number of rows that events contributed; checked against the record counts
SEGMENT = "_segment"  # hidden column: start of a unit's segment in epoch milliseconds; 0 where a unit is a key


APPEND_TIME, PROCESSING_TIME = "_timestamp", "processing_time"  # times that windows may be over, besides EVENT_TIME


@dataclass(frozen=True)
class Key:
    """A grouping column: a Spark SQL expression over an event, and its Spark type."""

    name: str
    expr: str
    type: str = "string"
    comment: str = ""


@dataclass(frozen=True)
class Window:
    """Time windows. ``name`` is the column with the start of the window.

    ``over`` is EVENT_TIME, APPEND_TIME (when Kafka appended the record) or PROCESSING_TIME (the epoch that read it).
    ``size`` and ``hop`` are milliseconds; windows without a hop tumble. Windows start at multiples of the hop
    since 1970-01-01 UTC, and a hopping event belongs to ``size / hop`` windows.
    """

    name: str
    size: int
    hop: int | None = None
    comment: str = ""
    over: str = EVENT_TIME

    @property
    def pane(self) -> int:
        """Milliseconds of a pane: a hopping window is a sequence of panes that are as long as the hop."""
        return self.hop or self.size

    @property
    def copies(self) -> int:
        """Number of windows that an event belongs to."""
        return self.size // self.pane

    @property
    def by_event_time(self) -> bool:
        """Whether windows are over the event time."""
        return self.over == EVENT_TIME


@dataclass(frozen=True)
class Explode:
    """Turns an event into one row per element of the array ``expr``; ``name`` is the column of the element."""

    name: str
    expr: str


@dataclass(frozen=True)
class Shown:
    """A presentation column: Trino SQL over the merged keys and measures. It is not stored and not compared."""

    name: str
    sql: str
    comment: str = ""


@dataclass(frozen=True)
class Rollup:
    """A view whose partial results add up: events, filtered by ``where`` and exploded, grouped by keys and window.

    ``sources`` are topics; every expression must be valid for each of them. ``shown`` and ``only`` are presentation:
    ``only`` is a Trino SQL predicate for the rows that readers see. A build without rows is refused unless
    ``allow_empty`` is set or the log has no good record for the view.
    """

    name: str
    sources: tuple[str, ...]
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    window: Window | None = None
    where: str | None = None
    explode: Explode | None = None
    shown: tuple[Shown, ...] = ()
    only: str | None = None
    checks: tuple[AnyCheck, ...] = ()
    allow_empty: bool = False
    comment: str = ""

    @property
    def reproducible(self) -> bool:
        """Whether a build or a replay of the log gives the same rows; false for windows of processing time."""
        return self.window is None or self.window.over != PROCESSING_TIME

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns that events are grouped by: the keys, and the start of the window."""
        window = (Column(self.window.name, "timestamp"),) if self.window else ()
        return tuple(Column(key.name, key.type) for key in self.keys) + window

    @property
    def identifying_columns(self) -> tuple[Column, ...]:
        """The columns that identify a row: its key columns."""
        return self.key_columns

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """The columns of a batch table; a speed table adds first_epoch and last_epoch."""
        measures = tuple(column for measure in self.measures for column in measure.stored)
        return (*self.key_columns, *measures, Column(ROWS, "bigint"))


@dataclass(frozen=True)
class Result:
    """A column of the query, with its Spark type."""

    name: str
    type: str = "string"
    comment: str = ""


@dataclass(frozen=True)
class Reach:
    """How far apart in time events of a key can influence each other; all in milliseconds.

    ``anchor`` names a timestamp among the results. A row may depend only on events from ``before`` before its anchor to
    ``after`` after it, inclusive. A unit is ``segment`` long; an epoch computes the units that its events influence.
    """

    anchor: str
    before: int
    after: int
    segment: int


@dataclass(frozen=True)
class Keyed:
    """A view whose rows need all events of a key: joins, sessions, deduplication, reordering.

    ``query`` is Spark SQL over the sources, each written as ``{topic}``, with the topic's fields, ``event_time``,
    ``_topic``, ``_partition``, ``_offset`` and the keys, which hide fields of the same name. It returns the keys and
    ``results``, and must compute every key independently. Events without a key are ignored. ``shown``, ``only`` and
    ``allow_empty`` are as in a rollup.
    """

    name: str
    sources: tuple[str, ...]
    keys: tuple[Key, ...]
    results: tuple[Result, ...]
    query: str
    reach: Reach | None = None
    shown: tuple[Shown, ...] = ()
    only: str | None = None
    checks: tuple[AnyCheck, ...] = ()
    allow_empty: bool = False
    comment: str = ""

    @property
    def reproducible(self) -> bool:
        """A build or a replay of the log always gives the same rows."""
        return True

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The keys."""
        return tuple(Column(key.name, key.type) for key in self.keys)

    @property
    def unit_columns(self) -> tuple[Column, ...]:
        """The columns that identify a unit."""
        return (*self.key_columns, Column(SEGMENT, "bigint"))

    @property
    def identifying_columns(self) -> tuple[Column, ...]:
        """The columns that identify a row: all columns of the query. Equal rows are stored separately."""
        return self.key_columns + tuple(Column(result.name, result.type) for result in self.results)

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """The columns of a batch table. A row with count 0 and null results marks a unit without rows."""
        return (*self.identifying_columns, Column(SEGMENT, "bigint"), Column(ROWS, "bigint"))


View = Rollup | Keyed


def visible_columns(view: View) -> tuple[Column, ...]:
    """The stored columns that people see: all but the hidden ones. Presentation columns are Trino's."""
    return tuple(column for column in view.stored_columns if not column.name.startswith("_"))
