"""Definition of a topic: partitions, key, format, event time and rules. Data only; core/decoding implements it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from core.record_keys import TEXT
from core.sample_spec import BlockGenerator, EventGenerator

EVENT_TIME = "event_time"  # the column with the time of an event, whichever field it comes from
FIELD_TYPES = ("string", "bigint", "boolean", "timestamp")  # and decimal(p,s)
FEW_QUARANTINED = 10  # this many quarantined records of a topic are never too many
JSON_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.@$-]*\Z")
JSON_NAME_RULE = "begin with a letter; then letters, digits and _ . @ $ -"  # JSON_NAME in words
DECIMAL = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)\Z")


@dataclass(frozen=True)
class Field:
    """One typed column of an event. A record whose text does not fit the type or the limits goes to quarantine.

    ``type`` is one of FIELD_TYPES or ``decimal(p,s)``. ``minimum`` and ``maximum`` are inclusive, as text.
    A timestamp is epoch milliseconds, or text in ``time_format`` (a Spark datetime pattern).
    ``absent`` is the text that means "no value"; a required field must have a value.
    ``personal``: its values are about a person. Who may not read the archive sees nothing computed from it.
    ``subject`` names the field with the person's id: producers encrypt the values with that person's key. The field
    that names itself has the person's pseudonym. See core/sealed_topic.py.
    """

    name: str
    type: str = "string"
    required: bool = True
    pattern: str | None = None
    minimum: str | None = None
    maximum: str | None = None
    time_format: str | None = None
    absent: str | None = None
    personal: bool = False
    subject: str | None = None
    comment: str = ""


@dataclass(frozen=True)
class Version:
    """One schema version of a JSON topic: its JSON names, and how the topic's fields are computed from them.

    ``upcast`` maps a field of the topic to a Spark SQL expression over this version's JSON names, which are all text.
    A field that is neither in ``upcast`` nor in ``names`` is null in this version.
    """

    number: int
    names: tuple[str, ...]
    upcast: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Json:
    """One JSON object per record. ``version_name`` is the JSON name of the version number, 1 by default."""

    versions: tuple[Version, ...]
    version_name: str = "version"


@dataclass(frozen=True)
class Lines:
    """One line of text per record; capture group n of ``pattern`` (Java syntax) is the text of field n."""

    pattern: str


@dataclass(frozen=True)
class Rule:
    """A Spark SQL predicate over the typed fields that every event must satisfy; null counts as false."""

    name: str
    sql: str


@dataclass(frozen=True)
class Topic:
    """A Kafka topic, and how its records become events.

    ``key``: the field that producers use as the record key. Records without a key are quarantined.
    ``key_encoding``: how its text becomes the bytes of the record key: TEXT, or one of core.record_keys.KEY_ENCODINGS.
    ``event_time``: a timestamp field; None takes the timestamp of the record.
    ``append_time``: record timestamps are set by the broker (LogAppendTime), else by the producer (CreateTime).
    ``changelog``: a record without a value deletes its key. It is an event at the record's timestamp, in which
    ``deleted`` is true and the other fields are null. A key that is not text is taken from the record key.
    ``compacted``: Kafka keeps only the last record of each key, so offsets may have no record. The key is taken from
    the record key. A record that cannot be decoded makes all values of its key null, ``deleted`` too.
    ``max_bytes``: larger values are quarantined.
    ``most_quarantined``: the share of records, from 0 to 1, of which more in quarantine makes `lk status` unhealthy.
    ``generator``: makes events for `lk produce --seed`: the fields without the event time, or a line. In a changelog
    the key alone is a delete.
    """

    name: str
    format: Json | Lines
    fields: tuple[Field, ...]
    comment: str = ""
    partitions: int = 4
    key: str | None = None
    key_encoding: str = TEXT
    event_time: str | None = None
    rules: tuple[Rule, ...] = ()
    max_bytes: int = 65_536
    most_quarantined: float = 0.01
    changelog: bool = False
    append_time: bool = False
    compacted: bool = False
    generator: EventGenerator | BlockGenerator | None = None

    def allowed_in_quarantine(self, records: int) -> int:
        """How many of so many records may be in quarantine."""
        return max(FEW_QUARANTINED, int(self.most_quarantined * records))
