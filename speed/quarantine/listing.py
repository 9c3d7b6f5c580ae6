"""Lists quarantined records: their coordinates, the rules that they broke, and their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.catalog import Catalog
from core.event_columns import ERROR
from core.identifiers import Name
from core.safe_text import one_line
from infra.control import redrives, runs
from infra.lake import delta, table_paths
from infra.settings import Settings

SHOWN_BYTES = 80  # of a record in a list
_COORDINATES = pa.schema({"_partition": pa.int32(), "_offset": pa.int64()})
_PLACE = ["_topic", "_partition", "_offset", "_timestamp", ERROR]


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
    def place(self) -> str:
        """Its coordinates, as copies name them."""
        return f"{self.topic}/{self.partition}/{self.offset}"


def list_quarantined(
    settings: Settings, *, catalog: Catalog, topic: Name | None = None, limit: int | None = None
) -> list[QuarantineEntry]:
    """Every record that the catalog's decoders refuse, once, by coordinates; at most ``limit``.

    They are in the quarantine of the runs and, for offsets that no run has read, in the archive.
    """
    sent = redrives.sent_origins(settings)
    entries: list[QuarantineEntry] = []
    for name in [topic] if topic else sorted(catalog.topics):
        left = None if limit is None else limit - len(entries)
        where = _first_places(settings, catalog, name, left) if left is not None else None
        rows = _by_coordinates(settings, catalog, name, ["_value"], where)
        entries += [_entry(rows[key], sent) for key in sorted(rows)][:left]
    return entries


def newest_first(settings: Settings, catalog: Catalog, topic: Name) -> Iterator[QuarantineEntry]:
    """The same records of a topic, newest run first; one that several tables hold comes several times."""
    sent = redrives.sent_origins(settings)
    for batch in batches(settings, catalog, topic, [*_PLACE, "_value"]):
        yield from (_entry(row, sent) for row in batch.to_pylist())


def quarantined_records(settings: Settings, catalog: Catalog, topic: Name | None = None) -> list[QuarantinedRecord]:
    """The same records, with key, value and headers."""
    rows = _by_coordinates(settings, catalog, topic, ["_key", "_value", "_headers"])
    return [_record(rows[key]) for key in sorted(rows)]


def batches(
    settings: Settings, catalog: Catalog, topic: Name, columns: Sequence[str], where: pc.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    """The quarantined records of a topic, newest run first; one that several tables hold comes several times."""
    decoder = catalog.decoder(topic)
    tables = [
        (table_paths.quarantine(settings, run.id), pc.field("_topic") == topic)
        for run in reversed(runs.read_runs(settings))
        if run.decoders.get(topic) == decoder
    ]
    tables.append((table_paths.archive(settings, topic, decoder), pc.field(ERROR).is_valid()))
    for path, condition in tables:
        if delta.exists(path):
            yield from delta.batches(path, columns, condition if where is None else condition & where)


def count_of(settings: Settings, catalog: Catalog, topic: Name, rule: str) -> int:
    """How many records of a topic broke a rule, each counted once."""
    names, schema = _COORDINATES.names, _COORDINATES
    broken = pc.match_substring_regex(pc.field(ERROR), f"(^|,){rule}(,|$)")
    places = [pa.Table.from_batches([batch]).cast(schema) for batch in batches(settings, catalog, topic, names, broken)]
    return len(pa.concat_tables([schema.empty_table(), *places]).group_by(names).aggregate([]))


def safe(value: bytes | None) -> str:
    """The first bytes as text that is safe to print."""
    if value is None:
        return "(no value)"
    text = value[:SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return one_line(text) + ("…" if len(value) > SHOWN_BYTES else "")


def _first_places(settings: Settings, catalog: Catalog, topic: Name, count: int) -> pc.Expression:
    """A condition for the first records of a topic by coordinates; all of them are looked at, batch by batch."""
    names, schema = _COORDINATES.names, _COORDINATES
    first = schema.empty_table()
    for batch in batches(settings, catalog, topic, names):
        both = pa.concat_tables([first, pa.Table.from_batches([batch]).cast(schema)])
        first = both.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names]).slice(0, count)
    by_partition: dict[int, list[int]] = {}
    for row in first.to_pylist():
        by_partition.setdefault(row["_partition"], []).append(row["_offset"])
    places = [(pc.field("_partition") == p) & pc.field("_offset").isin(offsets) for p, offsets in by_partition.items()]
    return reduce(or_, places, pc.scalar(False))


def _by_coordinates(
    settings: Settings,
    catalog: Catalog,
    topic: Name | None,
    columns: Sequence[str],
    where: pc.Expression | None = None,
) -> dict[tuple[Name, int, int], Mapping[str, Any]]:
    """One row per record, by its coordinates."""
    rows: dict[tuple[Name, int, int], Mapping[str, Any]] = {}
    for name in [topic] if topic else list(catalog.topics):
        for batch in batches(settings, catalog, name, [*_PLACE, *columns], where):
            for row in batch.to_pylist():
                rows.setdefault((name, row["_partition"], row["_offset"]), row)
    return rows


def _entry(row: Mapping[str, Any], sent: Mapping[str, str]) -> QuarantineEntry:
    value: bytes | None = row["_value"]
    return QuarantineEntry(
        topic=Name(row["_topic"]),
        partition=row["_partition"],
        offset=row["_offset"],
        timestamp=row["_timestamp"],
        rules=tuple(row[ERROR].split(",")),
        redriven=_place(row) in sent,
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


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['_topic']}/{row['_partition']}/{row['_offset']}"
