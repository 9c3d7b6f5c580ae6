"""Lists quarantined records: their positions, the rules that they broke, and their bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.catalog import Catalog
from core.event_columns import ERROR
from core.identifiers import Name
from core.positions import RecordPosition
from core.safe_text import one_line
from infra.control import redrives
from infra.lake import delta, large_rows
from infra.settings import Settings
from speed.quarantine import quarantine_tables
from speed.quarantine.first_records import first_positions
from speed.quarantine.quarantine_tables import COORDINATES, QuarantineSource

SHOWN_BYTES = 80  # of a record in a list
_PLACE = ["_topic", "_partition", "_offset", "_timestamp", ERROR]
_BYTES = ["_key", "_value", "_headers"]


@dataclass(frozen=True)
class QuarantineEntry:
    """One record that could not be decoded; ``text`` is its first bytes, made safe to print."""

    topic: Name
    partition: int
    offset: int
    timestamp: datetime
    rules: tuple[str, ...]
    redriven: bool
    size: int
    text: str

    @property
    def position(self) -> RecordPosition:
        """Where the record is."""
        return RecordPosition(self.topic, self.partition, self.offset)


@dataclass(frozen=True)
class BrokenRecord:
    """A quarantined record of some topic without its bytes: where it is, and the rules that it broke."""

    partition: int
    offset: int
    rules: tuple[str, ...]

    @property
    def at(self) -> tuple[int, int]:
        """Its partition and offset."""
        return self.partition, self.offset


@dataclass(frozen=True)
class QuarantinedRecord:
    """A record that could not be decoded, with all columns of its Kafka record."""

    topic: Name
    partition: int
    offset: int
    timestamp: datetime
    rules: tuple[str, ...]
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def position(self) -> RecordPosition:
        """Where the record is."""
        return RecordPosition(self.topic, self.partition, self.offset)


def list_quarantined(
    settings: Settings, *, catalog: Catalog, topic: Name | None = None, limit: int | None = None
) -> list[QuarantineEntry]:
    """Every record that the catalog's decoders refuse, once, by position; at most ``limit``.

    They are in the quarantine of the runs and, for offsets that no run has read, in the archive.
    """
    entries: list[QuarantineEntry] = []
    for name in [topic] if topic else sorted(catalog.topics):
        left = None if limit is None else limit - len(entries)
        positions = None if left is None else first_positions(settings, catalog, name, left)
        entries += entries_at(settings, catalog, name, positions)
    return entries


def entries_at(
    settings: Settings,
    catalog: Catalog,
    topic: Name,
    at: Collection[tuple[int, int]] | None,
    source: QuarantineSource | None = None,
) -> list[QuarantineEntry]:
    """The entries of a topic at some partitions and offsets, or all of them with None, by position."""
    if at is not None and not at:
        return []
    where = None if at is None else quarantine_tables.at_positions(at)
    entries: dict[tuple[int, int], QuarantineEntry] = {}
    for path, condition in quarantine_tables.holding(settings, catalog, topic, where, source):
        if at is not None and len(entries) == len(set(at)):
            break
        for row in large_rows.rows(path, _PLACE, ["_value"], condition):
            entries.setdefault((row["_partition"], row["_offset"]), _entry(row))
    sent = redrives.sent_origins(settings, [str(entry.position) for entry in entries.values()])
    return [replace(entries[key], redriven=str(entries[key].position) in sent) for key in sorted(entries)]


def newest_first(
    settings: Settings,
    catalog: Catalog,
    topic: Name,
    where: pc.Expression | None = None,
    source: QuarantineSource | None = None,
) -> Iterator[BrokenRecord]:
    """The same records of a topic without bytes, newest run first; one that several tables hold comes several times."""
    columns = ["_partition", "_offset", ERROR]
    for path, condition in quarantine_tables.holding(settings, catalog, topic, where, source):
        for batch in delta.batches_one_by_one(path, columns, condition):
            for row in batch.to_pylist():
                yield BrokenRecord(row["_partition"], row["_offset"], tuple(row[ERROR].split(",")))


def quarantined_records(
    settings: Settings, catalog: Catalog, topic: Name | None = None, at: Collection[tuple[int, int]] | None = None
) -> Iterator[QuarantinedRecord]:
    """The same records with key, value and headers, in no order; few are in memory at a time.

    ``at``: only those of these partitions and offsets. One that several tables hold comes several times.
    """
    where = None if at is None else quarantine_tables.at_positions(at)
    for name in [topic] if topic else list(catalog.topics):
        for path, condition in quarantine_tables.holding(settings, catalog, name, where):
            yield from map(_record, large_rows.rows(path, _PLACE, _BYTES, condition))


def count_of(settings: Settings, catalog: Catalog, topic: Name, rule: str) -> int:
    """How many records of a topic broke a rule, each counted once."""
    broken = pc.match_substring_regex(pc.field(ERROR), f"(^|,){rule}(,|$)")
    return count_where(settings, catalog, topic, broken)


def count_where(
    settings: Settings, catalog: Catalog, topic: Name, where: pc.Expression, source: QuarantineSource | None = None
) -> int:
    """How many quarantined records of a topic meet a condition, each counted once."""
    names, schema = COORDINATES.names, COORDINATES
    rows = quarantine_tables.batches(settings, catalog, topic, names, where, source)
    tables = [pa.Table.from_batches([batch]).cast(schema) for batch in rows]
    return len(pa.concat_tables([schema.empty_table(), *tables]).group_by(names).aggregate([]))


def safe(value: bytes | None) -> str:
    """The first bytes as text that is safe to print."""
    if value is None:
        return "(no value)"
    text = value[:SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return one_line(text) + ("…" if len(value) > SHOWN_BYTES else "")


def _entry(row: Mapping[str, Any]) -> QuarantineEntry:
    value: bytes | None = row["_value"]
    return QuarantineEntry(
        topic=Name(row["_topic"]),
        partition=row["_partition"],
        offset=row["_offset"],
        timestamp=row["_timestamp"],
        rules=tuple(row[ERROR].split(",")),
        redriven=False,
        size=len(value or b""),
        text=safe(value),
    )


def _record(row: Mapping[str, Any]) -> QuarantinedRecord:
    return QuarantinedRecord(
        topic=Name(row["_topic"]),
        partition=row["_partition"],
        offset=row["_offset"],
        timestamp=row["_timestamp"],
        rules=tuple(row[ERROR].split(",")),
        key=row["_key"],
        value=row["_value"],
        headers=tuple((header["key"], header["value"]) for header in row["_headers"] or ()),
    )
