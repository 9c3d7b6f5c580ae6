"""The stages of one record, as data: what `lk trace` prints and what JSON holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from core.identifiers import Name
from core.unix_time import utc_millis_text

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]

Presence = Literal["there", "removed", "no record", "not yet", "unknown"]
Outcome = Literal["event", "quarantined", "no record", "unknown"]
Reading = Literal["taken", "waiting", "before its start", "missing", "other topic", "unknown"]
Side = Literal["batch", "speed", "not yet", "never", "not served", "missing", "twice", "unknown"]


@dataclass(frozen=True)
class Content:
    """The bytes of a part of a record. ``shown`` is text, or hexadecimal if they are none; a long one is cut.

    ``size`` and ``sha256`` are of all bytes.
    """

    shown: str
    is_text: bool
    is_cut: bool
    size: int
    sha256: str

    @property
    def text(self) -> str:
        """What is shown in one line: hexadecimal begins with 0x, and a cut part names its size and sha256."""
        shown = self.shown if self.is_text else f"0x{self.shown}"
        return f"{shown}… ({self.size:,} bytes, sha256 {self.sha256})" if self.is_cut else shown


@dataclass(frozen=True)
class KafkaRecord:
    """The record in Kafka. ``start`` and ``end`` are the offsets of the partition: None while Kafka does not answer."""

    presence: Presence
    start: int | None = None
    end: int | None = None
    timestamp: datetime | None = None
    timestamp_type: str = ""
    key: Content | None = None
    value: Content | None = None
    headers: tuple[tuple[str, Content | None], ...] = ()
    note: str = ""
    problem: str = ""

    @property
    def span(self) -> str:
        """The offsets of its partition; empty while Kafka does not tell them."""
        return f"the partition has offsets {self.start} to {(self.end or 0) - 1}" if self.end else ""

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Name and text of the key, the value and each header."""
        parts = (("key", self.key), ("value", self.value), *((f"header {name}", part) for name, part in self.headers))
        return tuple((name, part.text if part else "null") for name, part in parts)


@dataclass(frozen=True)
class Decoded:
    """What decoding made of the record: the cells of an event, or the rules that it broke. ``source`` says who knows.

    A stored event has no cells where no table holds them. An offset with a marker of a transaction has no record.
    """

    outcome: Outcome
    source: str = ""
    cells: Row | None = None
    rules: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class RedriveLink:
    """The original of a redriven copy, or the copy of an original; positions are ``topic/partition/offset``."""

    original: str = ""
    copy: str = ""
    note: str = ""
    problem: str = ""


@dataclass(frozen=True)
class RunEpoch:
    """What one run did with the record. ``start`` and ``end`` are the epoch's offsets in the record's partition.

    ``lag`` is the number of offsets from the end of the run up to the record, which it included.
    """

    run: Name
    role: str
    reading: Reading
    epoch: int | None = None
    start: int | None = None
    end: int | None = None
    committed_at: datetime | None = None
    last_epoch: int | None = None
    lag: int | None = None
    note: str = ""
    problem: str = ""

    @property
    def text(self) -> str:
        """The run, its role, and the epoch that took the record, or why none did."""
        committed = f", committed {utc_millis_text(self.committed_at)}" if self.committed_at else ""
        taken = f"epoch {self.epoch}, offsets {self.start} to {(self.end or 0) - 1}{committed}"
        return f"run {self.run} ({self.role}): {taken if self.reading == 'taken' else self.reading}"


@dataclass(frozen=True)
class ArchivedRecord:
    """The row of the record in the archive of one decoder; ``landed`` is the end of what the archive holds."""

    decoder: Name
    is_current: bool
    table: str
    version: int
    landed: int
    file: str = ""
    rules: tuple[str, ...] = ()
    row: Row | None = None
    note: str = ""
    problem: str = ""


@dataclass(frozen=True)
class RouteCopy:
    """What one run of a route did with the record. ``copy`` is the position of the copy, if a bounded search met it."""

    route: Name
    run: Name
    position: int | None
    is_passed: bool | None
    copy: str = ""
    note: str = ""
    problem: str = ""


@dataclass(frozen=True)
class PartialRow:
    """A row of a run's table. ``level`` is 0 for one epoch, else how often its epochs were folded together."""

    cells: Row
    first_epoch: int
    last_epoch: int
    level: int

    @property
    def shown(self) -> Row:
        """The cells after the epochs and the level, as people see the row."""
        epochs = str(self.first_epoch) if self.level == 0 else f"{self.first_epoch} to {self.last_epoch}"
        return {"epochs": epochs, "level": self.level, **self.cells}


@dataclass(frozen=True)
class ViewPartials:
    """The rows of one run that the record is in. ``kept`` is its event as the run keeps it for a keyed view.

    ``missing`` names each row that should be there and is not.
    """

    run: Name
    table: str
    version: int = -1
    rows: tuple[PartialRow, ...] = ()
    kept: Row | None = None
    missing: tuple[str, ...] = ()
    note: str = ""
    problem: str = ""


@dataclass(frozen=True)
class ViewBuild:
    """A build of the view. ``end`` is its cut in the record's partition; ``holds`` says that the record is below it."""

    build: Name
    is_served: bool
    end: int
    holds: bool
    table: str
    rows: tuple[Row, ...] = ()
    missing: tuple[str, ...] = ()
    note: str = ""
    problem: str = ""


@dataclass(frozen=True)
class ServedSide:
    """Whether what is served counts the record, and which side does. ``counts`` is None where that is not known.

    ``rows`` are those that Trino serves now for the record's keys and windows, of a keyed view those that it changes;
    ``sql`` is the text of the view.
    """

    side: Side
    counts: bool | None
    text: str
    mode: str = ""
    build: Name | None = None
    run: Name | None = None
    after_epoch: int | None = None
    last_epoch: int | None = None
    sql: str = ""
    rows: tuple[Row, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class ViewTrace:
    """The record in one view. ``places`` are the keys and windows (of a keyed view, the units) that it belongs to.

    ``contributes`` says whether it changes anything in the view; None where that was not computed. ``added`` are the
    rows of a keyed view that are there only with it, ``removed`` those that would be there only without it.
    """

    view: Name
    kind: Literal["rollup", "keyed"]
    contributes: bool | None
    places: tuple[Row, ...]
    partials: tuple[ViewPartials, ...]
    builds: tuple[ViewBuild, ...]
    served: ServedSide
    note: str = ""
    problem: str = ""
    added: tuple[Row, ...] = ()
    removed: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Trace:
    """One record at every stage. A stage that cannot be read has a ``problem``; the others are complete.

    ``problems`` are those of stages that cannot be listed at all.
    """

    topic: Name
    partition: int
    offset: int
    record: KafkaRecord
    decoded: Decoded
    redriven: RedriveLink
    runs: tuple[RunEpoch, ...]
    archives: tuple[ArchivedRecord, ...]
    routes: tuple[RouteCopy, ...]
    views: tuple[ViewTrace, ...]
    problems: tuple[str, ...] = ()
