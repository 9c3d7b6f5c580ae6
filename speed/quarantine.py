"""Quarantined records: where they are, which rules they broke, what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow.compute as pc

from core.catalog import Catalog
from core.decode import ERROR
from core.ident import Name
from infra import definitions, delta, lake, runs
from infra.settings import Settings

SHOWN = 80  # bytes of a record that are listed
_COLUMNS = ["_topic", "_partition", "_offset", "_timestamp", "_value", ERROR]


@dataclass(frozen=True)
class Quarantined:
    """One record that could not be decoded; ``text`` is its first bytes, made safe to print."""

    topic: Name
    partition: int
    offset: int
    timestamp: datetime
    rules: tuple[str, ...]
    size: int
    text: str


def list_quarantined(
    settings: Settings, *, catalog: Catalog | None = None, topic: Name | None = None, limit: int | None = None
) -> list[Quarantined]:
    """Every record that today's decoders refuse, once, by coordinates; at most ``limit``.

    They are in the quarantine of the runs, and beyond what runs have read, in the archive.
    """
    found: dict[tuple[Name, int, int], Quarantined] = {}
    for row in _rows(settings, catalog or definitions.load(settings), topic):
        one = _one(row)
        found.setdefault((one.topic, one.partition, one.offset), one)
    ordered = [found[key] for key in sorted(found)]
    return ordered if limit is None else ordered[:limit]


def safe(value: bytes | None) -> str:
    """The first bytes as text that cannot do anything to a terminal."""
    if value is None:
        return "(no value)"
    text = value[:SHOWN].decode("utf-8", "backslashreplace")
    shown = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text)
    return shown + ("…" if len(value) > SHOWN else "")


def _rows(settings: Settings, catalog: Catalog, topic: Name | None) -> Iterator[Mapping[str, Any]]:
    for name in [topic] if topic else list(catalog.topics):
        decoder = catalog.decoder(name)
        for run in runs.runs(settings):
            if run.decoders.get(name) == decoder:
                yield from _read(lake.quarantine(settings, run.id), pc.field("_topic") == name)
        yield from _read(lake.archive(settings, name, decoder), pc.field(ERROR).is_valid())


def _read(path: str, where: pc.Expression) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = delta.read(path, _COLUMNS, where).to_pylist() if delta.exists(path) else []
    return rows


def _one(row: Mapping[str, Any]) -> Quarantined:
    value: bytes | None = row["_value"]
    return Quarantined(
        topic=Name(row["_topic"]),
        partition=row["_partition"],
        offset=row["_offset"],
        timestamp=row["_timestamp"],
        rules=tuple(row[ERROR].split(",")),
        size=len(value or b""),
        text=safe(value),
    )
