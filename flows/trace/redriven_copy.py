"""The other half of a redrive: the original of a copy, or the copy of a repaired original."""

from __future__ import annotations

from dataclasses import replace

from core.decoding.redrive_headers import ORIGIN, origin_of
from core.identifiers import Name
from core.positions import RecordPosition
from flows.trace.cells import guarded
from flows.trace.kafka_record import RawRecord
from flows.trace.stages import RedriveLink
from infra.control import redrives
from infra.control.redrives import Outline
from infra.kafka import kafka_admin
from infra.kafka.copy_search import MOST, find_copy
from infra.settings import Settings


def read_redriven(settings: Settings, position: RecordPosition, raw: RawRecord | None) -> RedriveLink:
    """Which record this one repairs, and which record repairs it."""
    return guarded(lambda: _link(settings, position, _origin(raw)), lambda why: RedriveLink(problem=why))


def _link(settings: Settings, position: RecordPosition, origin: RecordPosition | None) -> RedriveLink:
    if origin and redrives.redrives_of_record(settings, str(origin)):
        return RedriveLink(original=str(origin), note="this record is a repaired copy")
    link = _copy(settings, position)
    is_forged = origin is not None and not link.note  # or the redrive was lost with its control table
    return replace(link, note=f"a header calls it a copy of {origin}, which no redrive names") if is_forged else link


def _origin(raw: RawRecord | None) -> RecordPosition | None:
    """What the header of a copy names. Any producer may have written one: None for what is no position."""
    try:
        text = origin_of(raw.headers) if raw else None
        return RecordPosition.parse(text) if text else None
    except ValueError:
        return None


def _copy(settings: Settings, position: RecordPosition) -> RedriveLink:
    naming = redrives.redrives_of_record(settings, str(position))
    sent = [redrive for redrive in naming if redrive.state == "done"]
    if not sent:
        return RedriveLink(note="a redrive of it was begun and not finished" if naming else "")
    starts = _starts(settings, position.topic, sent[-1])
    search = find_copy(settings, starts, ORIGIN, str(position))
    if search.copy:
        return RedriveLink(copy=search.copy, note="a redrive sent a repaired copy of it")
    searched = "the records" if search.is_whole else f"the first {MOST:,} records"
    return RedriveLink(note=f"a redrive sent a repaired copy of it, which is not among {searched} since then")


def _starts(settings: Settings, topic: Name, redrive: Outline) -> list[tuple[str, int, int]]:
    count = kafka_admin.partitions(settings, [topic])[topic]
    return [(str(topic), partition, redrive.ends.end(topic, partition)) for partition in range(count)]
