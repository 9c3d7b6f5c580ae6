"""Sends repaired records to their topics again, each once, as copies whose headers name the original record.

0. Check every line of the file: its record is in quarantine, and the repaired record can be decoded. Look up in the log
   what an interrupted redrive has sent. Write an intent row: what will be sent, and where the topics end.
   Fault point: ``redrive.0_before_intent``.
1. Send the copies, in chunks; before each, renew the lease. Fault point: ``redrive.1_in_send``.
2. Write the done row. Fault point: ``redrive.2_before_done``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.catalog import Catalog
from core.cut import Cut
from core.decoding.decode import decode
from core.decoding.redrive_headers import headers
from core.errors import Refused, TryAgain
from core.event_columns import ERROR, HEADERS
from core.identifiers import Name
from core.sealed_topic import subject_field
from core.topic import Topic
from infra import faults
from infra.control import locks, redrives
from infra.control.redrives import Redrive
from infra.kafka import kafka_admin
from infra.kafka.fenced_send import send_fenced
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.redriven_copies import fingerprint, read_copies
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.personal.seal_records import seal_records
from infra.progress_bar import bar
from infra.settings import Settings
from speed.quarantine import listing, repair_file
from speed.quarantine.listing import QuarantinedRecord
from speed.quarantine.repair_file import Repaired, bad_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = f"key binary, value binary, topic string, partition int, offset long, timestamp timestamp, headers {HEADERS}"


@dataclass(frozen=True)
class Redriven:
    """The result of a redrive: records sent now, and records of the file that were already in the log."""

    file: Path
    sent: int
    already: int
    topics: tuple[Name, ...]


def redrive(spark: SparkSession, settings: Settings, catalog: Catalog, file: Path) -> Redriven:
    """Sends the repaired records of a file, each once, however often it is called or interrupted.

    Raises Refused, with nothing sent, for a line whose record is not in quarantine, is a copy itself, still cannot be
    decoded, or was sent before with other bytes.
    """
    repairs = [_sealed(settings, catalog, file, repair) for repair in repair_file.read(file, catalog.topics)]
    topics = tuple(sorted({repair.topic for repair in repairs}))
    quarantined = [
        record
        for topic in topics
        if topic in catalog.topics
        for record in listing.quarantined_records(settings, catalog, topic)
    ]
    originals = repair_file.originals_of(file, repairs, quarantined)
    for topic in topics:
        _check_topic(catalog.topic(topic), file)
        of_topic = [repair for repair in repairs if repair.topic == topic]
        _check_decodes(spark, catalog.topic(topic), file, of_topic, originals)
    with locks.hold(settings, "redrives") as lease:
        sent = _sent_before(settings, lease, topics)
        unsent = [repair for repair in repairs if repair.place not in sent]
        _check_same(file, repairs, sent)
        if unsent:
            _send(settings, catalog, lease, unsent, originals)
    return Redriven(file, len(unsent), len(repairs) - len(unsent), topics)


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


def _check_topic(topic: Topic, file: Path) -> None:
    if topic.append_time and topic.event_time is None:
        raise Refused(
            f"records of {topic.name} have the time at which the log takes them: a copy would come too late",
            where=str(file),
            fix="send a new record with `lk produce`; nothing was sent",
        )


def _check_decodes(
    spark: SparkSession,
    topic: Topic,
    file: Path,
    repairs: Sequence[Repaired],
    originals: Mapping[str, QuarantinedRecord],
) -> None:
    rows = [_row(topic, repair, originals[repair.place]) for repair in repairs]
    bad = decode(topic, spark.createDataFrame(rows, _COLUMNS)).where(f"{ERROR} is not null")
    for row in sorted(bad.select("_offset", ERROR).collect()):
        raise bad_line(file, row["_offset"], f"the record would break {row[ERROR].replace(',', ', ')}")


def _row(topic: Topic, repair: Repaired, original: QuarantinedRecord) -> tuple[Any, ...]:
    """The copy as Kafka's source would return it, with the line number as its offset."""
    at = original.timestamp if topic.event_time is None else datetime.now(UTC)
    return repair.key, repair.value, topic.name, 0, repair.line, at, _headers(original)


def _headers(original: QuarantinedRecord) -> list[tuple[str, bytes | None]]:
    return headers(original.place, original.key, original.value, original.headers)


def _check_same(file: Path, repairs: Sequence[Repaired], sent: Mapping[str, str]) -> None:
    for repair in repairs:
        if repair.place in sent and sent[repair.place] != fingerprint(repair.key, repair.value):
            raise bad_line(
                file,
                repair.line,
                f"{repair.place} was redriven before, with another key or value, or by a forged header",
            )


def _sent_before(settings: Settings, lease: Lease, topics: Sequence[Name]) -> dict[str, str]:
    """The originals of all copies in the log. An interrupted redrive is looked up there, and gets its done row.

    A topic without a recorded redrive is read from its start, once: control tables can be lost, the log cannot.
    """
    all_previous = redrives.read_redrives(settings)
    for previous in all_previous:
        if previous.state == "intent":
            copies = read_copies(settings, previous.topics, previous.ends)
            # Only copies with the bytes of the intent: others have a forged header.
            sent = {origin: digest for origin, digest in previous.origins.items() if digest in copies.get(origin, ())}
            redrives.add_redrive(settings, lease, replace(previous, state="done", origins=sent, at=datetime.now(UTC)))
    new_topics = [topic for topic in topics if not any(topic in previous.topics for previous in all_previous)]
    if new_topics:
        ends = kafka_admin.end_offsets(settings, new_topics)
        # Which of several copies is forged is not known: the person decides, see _check_same.
        earlier = {origin: min(digests) for origin, digests in read_copies(settings, new_topics, Cut()).items()}
        seq = max((previous.seq for previous in all_previous), default=0) + 1
        redrives.add_redrive(settings, lease, Redrive(seq, "done", ends, earlier, datetime.now(UTC), current_user()))
    return redrives.sent_origins(settings)


def _send(
    settings: Settings,
    catalog: Catalog,
    lease: Lease,
    repairs: Sequence[Repaired],
    originals: Mapping[str, QuarantinedRecord],
) -> None:
    topics = sorted({repair.topic for repair in repairs})
    seq = max((repair.seq for repair in redrives.read_redrives(settings)), default=0) + 1
    origins = {repair.place: fingerprint(repair.key, repair.value) for repair in repairs}
    intent = Redrive(
        seq, "intent", kafka_admin.end_offsets(settings, topics), origins, datetime.now(UTC), current_user()
    )
    faults.at("redrive.0_before_intent")
    redrives.add_redrive(settings, lease, intent)
    renew = partial(lease.renew, settings.lease_seconds / 6)
    for topic in topics:
        of_topic = [repair for repair in repairs if repair.topic == topic]
        copies = _records(catalog.topic(topic), of_topic, originals)
        with bar(f"sending to {topic}", len(of_topic)) as progress:
            sent = send_fenced(settings, topic, copies, renew, progress)
        if sent.acknowledged < len(of_topic):
            raise TryAgain(
                f"{len(of_topic) - sent.acknowledged} of {len(of_topic)} records of {topic} were not acknowledged",
                where=", ".join(sent.failures[:1]),
                fix="run the command again: it finds what arrived, and sends the rest",
            )
    faults.at("redrive.2_before_done")
    redrives.add_redrive(settings, lease, replace(intent, state="done", at=datetime.now(UTC)))


def _records(
    topic: Topic, repairs: Sequence[Repaired], originals: Mapping[str, QuarantinedRecord]
) -> Iterator[OutgoingRecord]:
    for repair in repairs:
        faults.at("redrive.1_in_send")
        original = originals[repair.place]
        at = int(original.timestamp.timestamp() * 1000) if topic.event_time is None else None
        yield OutgoingRecord(repair.key, repair.value, at, tuple(_headers(original)))
