"""What a view is: one definition for batch, speed, replay and the merge. Data only; partial.py gives it meaning."""

from __future__ import annotations

from dataclasses import dataclass

from core.measures import Column, Measure

ROWS = "_rows"  # hidden count: view rows that events gave; reconciled with the ledger


@dataclass(frozen=True)
class Key:
    """A grouping column: a Spark SQL expression over an event, with its declared Spark type."""

    name: str
    expr: str
    type: str = "string"
    comment: str = ""


@dataclass(frozen=True)
class Window:
    """Event-time windows. ``name`` is the column that holds a window's start.

    ``size`` and ``hop`` are milliseconds; without a hop, windows tumble. Windows start at multiples of the hop
    since 1970-01-01 UTC, and a hopping event belongs to ``size / hop`` windows.
    """

    name: str
    size: int
    hop: int | None = None
    comment: str = ""

    @property
    def pane(self) -> int:
        """Milliseconds of the smallest piece that windows are made of."""
        return self.hop or self.size

    @property
    def copies(self) -> int:
        """Windows that one event belongs to."""
        return self.size // self.pane


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
class Check:
    """A Spark SQL predicate over stored columns that every row of a build must satisfy before it is published."""

    name: str
    sql: str


@dataclass(frozen=True)
class View:
    """A rollup view: events, filtered and exploded, grouped by keys and window into measures that add up.

    ``sources`` are topic names; every expression must make sense in each of them.
    """

    name: str
    sources: tuple[str, ...]
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    window: Window | None = None
    where: str | None = None
    explode: Explode | None = None
    shown: tuple[Shown, ...] = ()
    checks: tuple[Check, ...] = ()
    comment: str = ""

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
