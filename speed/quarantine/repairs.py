"""The repairs of a file, with the records that they repair; all but their positions and fingerprints are on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from core.catalog import Catalog
from core.decoding.redrive_headers import ORIGIN, headers, origin_of
from core.errors import Refused
from core.identifiers import Name
from core.positions import RecordPosition
from core.sealed_topic import subject_field
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.redriven_copies import fingerprint
from infra.personal.seal_records import seal_records
from infra.settings import Settings
from speed.quarantine import listing, repair_file
from speed.quarantine.listing import QuarantinedRecord
from speed.quarantine.repair_file import Repaired, bad_line
from speed.quarantine.spool import Spool, spool

_PORTION_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class RepairLine:
    """A line of a repair file: its number, the position of the original, and the fingerprint of the copy."""

    number: int
    position: RecordPosition
    fingerprint: str


@dataclass(frozen=True)
class Repair:
    """A repaired record and its original."""

    repaired: Repaired
    original: QuarantinedRecord

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """The headers of the copy."""
        original = self.original
        return headers(str(original.position), original.key, original.value, original.headers)

    @property
    def size(self) -> int:
        """The bytes of the copy, without the names of its headers."""
        values = (self.repaired.key, self.repaired.value, *(value for _, value in self.headers))
        return sum(len(value) for value in values if value)


@dataclass(frozen=True)
class Repairs:
    """The repairs of a file. ``lines`` are by the position of the original, in the order of the file."""

    file: Path
    lines: Mapping[str, RepairLine]
    _repaired: Spool[Repaired]
    _originals: Spool[QuarantinedRecord]

    @property
    def topics(self) -> tuple[Name, ...]:
        """The topics of the repairs, by name."""
        return tuple(sorted({line.position.topic for line in self.lines.values()}))

    def of(self, topic: Name, positions: Iterable[str]) -> Iterator[Repair]:
        """The repairs of a topic among these positions, in their order."""
        of_topic = (self.lines[position].position for position in positions if position.startswith(f"{topic}/"))
        for position in of_topic:
            repaired, original = self._repaired.get(position), self._originals.get(position)
            if repaired and original:
                yield Repair(repaired, original)

    def portions(self, topic: Name) -> Iterator[list[Repair]]:
        """All repairs of a topic in the order of the file, a few MiB at a time."""
        portion: list[Repair] = []
        size = 0
        for repair in self.of(topic, self.lines):
            portion.append(repair)
            size += repair.size
            if size > _PORTION_BYTES:
                yield portion
                portion, size = [], 0
        if portion:
            yield portion


@contextmanager
def repairs_of(settings: Settings, catalog: Catalog, file: Path) -> Iterator[Repairs]:
    """Reads a repair file and the originals that it names.

    Raises Refused for a line that is no repair, or whose original is not in quarantine or is a copy itself.
    """
    lines: dict[str, RepairLine] = {}
    with spool() as repaired, spool() as originals:
        for repair in repair_file.read(file, catalog.topics):
            sealed = _sealed(settings, catalog, file, repair)
            position = sealed.position
            repaired.add(position, sealed)
            lines[str(position)] = RepairLine(sealed.line, position, fingerprint(sealed.key, sealed.value))
        repairs = Repairs(file, lines, repaired, originals)
        _add_originals(settings, catalog, repairs, originals)
        yield repairs


def _add_originals(settings: Settings, catalog: Catalog, repairs: Repairs, originals: Spool[QuarantinedRecord]) -> None:
    origins: dict[str, str | None] = {}
    for topic in (topic for topic in repairs.topics if topic in catalog.topics):
        at = [
            (line.position.partition, line.position.offset)
            for line in repairs.lines.values()
            if line.position.topic == topic
        ]
        for record in listing.quarantined_records(settings, catalog, topic, at):
            if originals.add(record.position, record):
                origins[str(record.position)] = origin_of(record.headers)
    for position, line in repairs.lines.items():
        if position not in origins:
            raise bad_line(repairs.file, line.number, f"{position} is not in quarantine")
        if (origin := origins[position]) is not None:
            raise bad_line(repairs.file, line.number, f"{position} is a copy of {origin}, by its header {ORIGIN}")


def _sealed(settings: Settings, catalog: Catalog, file: Path, repair: Repaired) -> Repaired:
    """The repair with its sealed fields encrypted: a person may have written plain text."""
    topic = catalog.topics.get(repair.topic)
    if topic is None or subject_field(topic) is None:
        return repair
    try:
        (sealed,) = seal_records(settings, topic, [OutgoingRecord(repair.key, repair.value)])
    except Refused as e:
        raise bad_line(file, repair.line, f"it {e.what.partition(' 1 ')[2]}") from None
    return replace(repair, key=sealed.key, value=sealed.value)
