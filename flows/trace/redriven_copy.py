"""The other half of a redrive: the original of a copy, or the copy of a repaired original."""

from __future__ import annotations

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
    original = _origin(raw)
    if original:
        return RedriveLink(original=original, note="this record is a repaired copy")
    return guarded(lambda: _copy(settings, position), lambda why: RedriveLink(problem=why))


def _origin(raw: RawRecord | None) -> str:
    try:
        return origin_of(raw.headers) or "" if raw else ""
    except UnicodeDecodeError:  # a header of this name that no redrive wrote
        return ""


def _copy(settings: Settings, position: RecordPosition) -> RedriveLink:
    naming = redrives.naming(settings, str(position))
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
