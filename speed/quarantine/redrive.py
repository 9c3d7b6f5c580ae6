"""Sends repaired records to their topics again, each once, as copies whose headers name the original record.

0. Check every line of the file: its record is in quarantine, and the repaired record can be decoded. Look up in the log
   what an interrupted redrive has sent. Write an intent row: what will be sent, and where the topics end.
   Fault point: ``redrive.0_before_intent``.
1. Send the copies. Fault point: ``redrive.1_in_send``.
2. Write the done row. Fault point: ``redrive.2_before_done``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.catalog import Catalog
from core.cut import Cut
from core.decoding.decode import decode
from core.decoding.redrive_headers import headers
from core.errors import Refused, TryAgain
from core.event_columns import ERROR, HEADERS
from core.identifiers import Name
from core.topic import Topic
from infra import faults
from infra.control import locks, redrives
from infra.control.redrives import Redrive
from infra.kafka import kafka_admin
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.kafka.redriven_copies import fingerprint, read_copies
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.settings import Settings
from speed.quarantine import listing, repair_file
from speed.quarantine.listing import QuarantinedRecord
from speed.quarantine.repair_file import Repaired, bad_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = f"key binary, value binary, topic string, partition int, offset long, timestamp timestamp, headers {HEADERS}"


@dataclass(frozen=True)
class Redriven:
    """What a redrive did: records sent now, and records of the file that were in the log already."""

    file: Path
    sent: int
    already: int
    topics: tuple[Name, ...]


def redrive(spark: SparkSession, settings: Settings, catalog: Catalog, file: Path) -> Redriven:
    """Sends the repaired records of a file, once each, however often it is called and wherever it broke off.

    Raises Refused, with nothing sent, for a line that is no repair of a quarantined record: not in quarantine, a copy
    itself, still not decodable, or sent before with other bytes.
    """
    found = repair_file.read(file)
    topics = tuple(sorted({one.topic for one in found}))
    known = [
        one
        for topic in topics
        if topic in catalog.topics
        for one in listing.quarantined_records(settings, catalog, topic)
    ]
    originals = repair_file.checked(file, found, known)
    for topic in topics:
        _check_topic(catalog.topic(topic), file)
        mine = [one for one in found if one.topic == topic]
        _check_decodes(spark, catalog.topic(topic), file, mine, originals)
    with locks.hold(settings, "redrives") as lease:
        sent = _settled(settings, lease, topics)
        new = [one for one in found if one.place not in sent]
        _check_same(file, found, sent)
        if new:
            _send(settings, catalog, lease, new, originals)
    return Redriven(file, len(new), len(found) - len(new), topics)


def _check_topic(topic: Topic, file: Path) -> None:
    if topic.append_time and topic.event_time is None:
        raise Refused(
            f"records of {topic.name} have the time at which the log takes them: a copy would come too late",
            where=str(file),
            fix="send what holds now as a new record: `lk produce`; nothing was sent",
        )


def _check_decodes(
    spark: SparkSession, topic: Topic, file: Path, found: Sequence[Repaired], originals: Mapping[str, QuarantinedRecord]
) -> None:
    rows = [_row(topic, one, originals[one.place]) for one in found]
    bad = decode(topic, spark.createDataFrame(rows, _COLUMNS)).where(f"{ERROR} is not null")
    for row in sorted(bad.select("_offset", ERROR).collect()):
        raise bad_line(file, row["_offset"], f"the record would break {row[ERROR].replace(',', ', ')}")


def _row(topic: Topic, one: Repaired, original: QuarantinedRecord) -> tuple[Any, ...]:
    """The copy as a reader would get it; the line stands for the offset."""
    at = original.timestamp if topic.event_time is None else datetime.now(UTC)
    return one.key, one.value, topic.name, 0, one.line, at, _headers(original)


def _headers(original: QuarantinedRecord) -> list[tuple[str, bytes | None]]:
    return headers(original.place, original.key, original.value, original.headers)


def _check_same(file: Path, found: Sequence[Repaired], sent: Mapping[str, str]) -> None:
    for one in found:
        if one.place in sent and sent[one.place] != fingerprint(one.key, one.value):
            raise bad_line(file, one.line, f"{one.place} was redriven before, with another key or value")


def _settled(settings: Settings, lease: Lease, topics: Sequence[Name]) -> dict[str, str]:
    """The origins of all copies in the log; what a redrive left open is looked up there, and closed.

    A topic that no redrive is known of is read from its start, once: control tables can be lost, the log not.
    """
    known = redrives.read_redrives(settings)
    for one in known:
        if one.state == "intent":
            seen = read_copies(settings, one.topics, one.ends)
            arrived = {origin: seen[origin] for origin in one.origins if origin in seen}
            redrives.add_redrive(settings, lease, replace(one, state="done", origins=arrived, at=datetime.now(UTC)))
    new = [topic for topic in topics if not any(topic in one.topics for one in known)]
    if new:
        ends = kafka_admin.end_offsets(settings, new)
        found = read_copies(settings, new, Cut())
        seq = max((one.seq for one in known), default=0) + 1
        redrives.add_redrive(settings, lease, Redrive(seq, "done", ends, found, datetime.now(UTC), current_user()))
    return redrives.sent_origins(settings)


def _send(
    settings: Settings,
    catalog: Catalog,
    lease: Lease,
    found: Sequence[Repaired],
    originals: Mapping[str, QuarantinedRecord],
) -> None:
    topics = sorted({one.topic for one in found})
    seq = max((one.seq for one in redrives.read_redrives(settings)), default=0) + 1
    origins = {one.place: fingerprint(one.key, one.value) for one in found}
    intent = Redrive(
        seq, "intent", kafka_admin.end_offsets(settings, topics), origins, datetime.now(UTC), current_user()
    )
    faults.reach("redrive.0_before_intent")
    redrives.add_redrive(settings, lease, intent)
    for topic in topics:
        lease.check()
        mine = [one for one in found if one.topic == topic]
        done = produce(settings, catalog.topic(topic), _records(catalog.topic(topic), mine, originals), total=len(mine))
        if not done.complete or done.sent != len(mine):
            raise TryAgain(
                f"{len(mine) - done.count} of {len(mine)} records of {topic} were not acknowledged",
                where=", ".join(failure.reason for failure in done.failures[:1]),
                fix="run the command again: it finds what arrived, and sends the rest",
            )
    faults.reach("redrive.2_before_done")
    redrives.add_redrive(settings, lease, replace(intent, state="done", at=datetime.now(UTC)))


def _records(
    topic: Topic, found: Sequence[Repaired], originals: Mapping[str, QuarantinedRecord]
) -> Iterator[OutgoingRecord]:
    for one in found:
        faults.reach("redrive.1_in_send")
        original = originals[one.place]
        at = int(original.timestamp.timestamp() * 1000) if topic.event_time is None else None
        yield OutgoingRecord(one.key, one.value, at, tuple(_headers(original)))
