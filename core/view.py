"""What a view is: one definition for batch, speed, replay and the merge. Data only.

A rollup's meaning is in partial.py: partial results add up. A keyed view's is in units.py: the rows of a unit, which is
a key, or a key and a segment of time, are a query over all of its events.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.checks import AnyCheck
from core.checks import Check as Check
from core.checks import Fresh as Fresh
from core.checks import Total as Total
from core.measures import Column, Measure
from core.topic import EVENT_TIME

ROWS = "_rows"  # hidden count: view rows that events gave; reconciled with the ledger
SEGMENT = "_segment"  # start of a unit's segment in epoch milliseconds; 0 where a unit is a key


APPEND_TIME, PROCESSING_TIME = "_timestamp", "processing_time"  # besides EVENT_TIME, what windows may be over


@dataclass(frozen=True)
class Key:
    """A grouping column: a Spark SQL expression over an event, with its declared Spark type."""

    name: str
    expr: str
    type: str = "string"
    comment: str = ""


@dataclass(frozen=True)
class Window:
    """Windows of time. ``name`` is the column that holds a window's start.

    ``over`` is EVENT_TIME, APPEND_TIME (of the record in the log) or PROCESSING_TIME (of the epoch that read it).
    ``size`` and ``hop`` are milliseconds; without a hop, windows tumble. Windows start at multiples of the hop
    since 1970-01-01 UTC, and a hopping event belongs to ``size / hop`` windows.
    """

    name: str
    size: int
    hop: int | None = None
    comment: str = ""
    over: str = EVENT_TIME

    @property
    def pane(self) -> int:
        """Milliseconds of the smallest piece that windows are made of."""
        return self.hop or self.size

    @property
    def copies(self) -> int:
        """Windows that one event belongs to."""
        return self.size // self.pane

    @property
    def by_event_time(self) -> bool:
        """Whether an event's own time says which windows it belongs to."""
        return self.over == EVENT_TIME


@dataclass(frozen=True)
class Explode:
    """Turns one event into one row per element of an array: ``name`` is the element's column."""

    name: str
    expr: str


@dataclass(frozen=True)
class Shown:
    """A presentation column: Trino SQL over the merged keys and measures. Never stored, never compared."""

    name: str
    sql: str
    comment: str = ""


@dataclass(frozen=True)
class Rollup:
    """A view whose partial results add up: events, filtered and exploded, grouped by keys and window into measures.

    ``sources`` are topic names; every expression must make sense in each of them. ``only`` is presentation too: a
    Trino SQL predicate over what is shown, for the rows that people see. A build without rows passes its gate where it
    ``allow_empty``, or where the log has no good record for it.
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
        """Whether the log alone says what the view holds; else no build and no replay can give it."""
        return self.window is None or self.window.over != PROCESSING_TIME

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """Keys and the window's start: what identifies a row."""
        window = (Column(self.window.name, "timestamp"),) if self.window else ()
        return tuple(Column(key.name, key.type) for key in self.keys) + window

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """Every column of a batch table; a speed table adds first_epoch and last_epoch."""
        measures = tuple(column for measure in self.measures for column in measure.stored)
        return (*self.key_columns, *measures, Column(ROWS, "bigint"))


@dataclass(frozen=True)
class Result:
    """A column that the query gives, with its declared Spark type."""

    name: str
    type: str = "string"
    comment: str = ""


@dataclass(frozen=True)
class Reach:
    """How far events of one key matter to each other; all in milliseconds.

    ``anchor`` is a timestamp among the results. A row may depend only on events from ``before`` before its anchor to
    ``after`` after it, both included. Units are ``segment`` long: an epoch computes those that its events reach.
    """

    anchor: str
    before: int
    after: int
    segment: int


@dataclass(frozen=True)
class Keyed:
    """A view whose rows need all events of a key together: joins, sessions, deduplication, repair.

    ``query`` is Spark SQL over the sources, each written as ``{topic}``, with the topic's fields, ``event_time``,
    ``_topic``, ``_partition``, ``_offset`` and the keys, which hide fields of their names. It gives the keys and
    ``results``, and must treat every key by itself. Events without a key are in no unit. ``only`` and
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
        """The log alone says what the view holds."""
        return True

    @property
    def unit_columns(self) -> tuple[Column, ...]:
        """What names a unit."""
        return (*(Column(key.name, key.type) for key in self.keys), Column(SEGMENT, "bigint"))

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """What tells rows apart: all that the query gives. Rows that are equal in all of it are counted."""
        keys = tuple(Column(key.name, key.type) for key in self.keys)
        return keys + tuple(Column(result.name, result.type) for result in self.results)

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """Every column of a batch table; a row of count 0 says that its unit has none, its results are null."""
        return (*self.key_columns, Column(SEGMENT, "bigint"), Column(ROWS, "bigint"))


View = Rollup | Keyed
