"""What a topic is: its partitions, key, format, event time and rules. Data only; decode.py gives it meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from core.sample_spec import BlockExample, EventExample

EVENT_TIME = "event_time"  # of an event, whatever field it comes from
FIELD_TYPES = ("string", "bigint", "boolean", "timestamp")  # and decimal(p,s)
DECIMAL = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)\Z")


@dataclass(frozen=True)
class Field:
    """One typed column of an event, converted from text and refused when the text does not fit.

    ``type`` is one of FIELD_TYPES or ``decimal(p,s)``. ``minimum`` and ``maximum`` are inclusive, as text.
    A timestamp is epoch milliseconds, or text in ``time_format`` (a Spark datetime pattern).
    ``absent`` is the text that means "no value"; a required field may not be absent.
    """

    name: str
    type: str = "string"
    required: bool = True
    pattern: str | None = None
    minimum: str | None = None
    maximum: str | None = None
    time_format: str | None = None
    absent: str | None = None
    comment: str = ""


@dataclass(frozen=True)
class Version:
    """One schema version of a JSON topic: the JSON names it has, and how fields of today come from them.

    ``upcast`` maps a field of today to a Spark SQL expression over this version's JSON names, all of them text.
    A field that is neither in ``upcast`` nor among ``names`` is absent in this version.
    """

    number: int
    names: tuple[str, ...]
    upcast: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Json:
    """JSON objects, one per record. ``version_name`` is the JSON name that holds the version; absent means 1."""

    versions: tuple[Version, ...]
    version_name: str = "version"


@dataclass(frozen=True)
class Lines:
    """Text lines; capture group n of ``pattern`` is the text of field n."""

    pattern: str


@dataclass(frozen=True)
class Rule:
    """A Spark SQL predicate over the typed fields that every event must satisfy (null counts as broken)."""

    name: str
    sql: str


@dataclass(frozen=True)
class Topic:
    """One topic: everything that turns its records into events.

    ``key`` names the field that producers use as the record key; such a topic refuses records without a key.
    ``event_time`` names a timestamp field; None takes the record's own timestamp. In a ``changelog`` a record without
    a value deletes its key: an event at the record's timestamp, whose other fields are absent, with ``deleted`` true.
    With ``append_time`` that timestamp is when the log took the record, else what its producer said.
    Of a ``compacted`` topic the log keeps the last record of each key only: other offsets may have no record. Its keys
    are those of the records; one that cannot be decoded makes the values of its key unknown: absent, ``deleted`` too.
    ``example`` makes up an event, for `lk produce --seed`: its fields but for the event time, or a line; in a
    changelog the key alone deletes.
    """

    name: str
    format: Json | Lines
    fields: tuple[Field, ...]
    comment: str = ""
    partitions: int = 4
    key: str | None = None
    event_time: str | None = None
    rules: tuple[Rule, ...] = ()
    max_bytes: int = 65_536
    changelog: bool = False
    append_time: bool = False
    compacted: bool = False
    example: EventExample | BlockExample | None = None
