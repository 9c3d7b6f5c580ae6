"""Sends repaired records to their topics again, each once, as copies whose headers name the original record.

0. Check every line of the file: its record is in quarantine, and the repaired record can be decoded. Look up in the log
   what was sent since the last redrive began. Write an intent row: what will be sent, and where the topics end.
   Fault point: ``redrive.0_before_intent``.
1. Send the copies, in chunks; before each, renew the lease. Fault point: ``redrive.1_in_send``.
2. Write the done row. Fault point: ``redrive.2_before_done``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.catalog import Catalog
from core.cut import latest_ends
from core.decoding.decode import decode
from core.errors import Refused, TryAgain
from core.event_columns import ERROR, HEADERS
from core.identifiers import Name
from core.topic import Topic
from core.unix_time import epoch_millis
from infra import faults
from infra.control import locks, redrives
from infra.control.redrives import Redrive
from infra.kafka import kafka_admin
from infra.kafka.fenced_send import send_fenced
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.redriven_copies import read_copies
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.progress_bar import bar
from infra.settings import Settings
from speed.quarantine.repair_file import bad_line
from speed.quarantine.repairs import Repair, Repairs, repairs_of

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
    with repairs_of(settings, catalog, file) as repairs:
        for topic in repairs.topics:
            _check_topic(catalog.topic(topic), file)
            for portion in repairs.portions(topic):
                _check_decodes(spark, catalog.topic(topic), file, portion)
        with locks.hold(settings, "redrives") as lease:
            sent = _sent_before(settings, lease, repairs)
            unsent = [position for position in repairs.lines if position not in sent]
            _check_same(repairs, sent)
            if unsent:
                _send(settings, catalog, lease, repairs, unsent)
        return Redriven(file, len(unsent), len(repairs.lines) - len(unsent), repairs.topics)


def _check_topic(topic: Topic, file: Path) -> None:
    if topic.append_time and topic.event_time is None:
        raise Refused(
            f"records of {topic.name} have the time at which the log takes them: a copy would come too late",
            where=str(file),
            fix="send a new record with `lk produce`; nothing was sent",
        )


def _check_decodes(spark: SparkSession, topic: Topic, file: Path, repairs: Sequence[Repair]) -> None:
    rows = [_row(topic, repair) for repair in repairs]
    bad = decode(topic, spark.createDataFrame(rows, _COLUMNS)).where(f"{ERROR} is not null")
    for row in sorted(bad.select("_offset", ERROR).collect()):
        raise bad_line(file, row["_offset"], f"the record would break {row[ERROR].replace(',', ', ')}")


def _row(topic: Topic, repair: Repair) -> tuple[Any, ...]:
    """The copy as Kafka's source would return it, with the line number as its offset."""
    repaired = repair.repaired
    at = repair.original.timestamp if topic.event_time is None else datetime.now(UTC)
    return repaired.key, repaired.value, topic.name, 0, repaired.line, at, repair.headers


def _check_same(repairs: Repairs, sent: Mapping[str, str]) -> None:
    for position, line in repairs.lines.items():
        if position in sent and sent[position] != line.fingerprint:
            raise bad_line(
                repairs.file,
                line.number,
                f"{position} was redriven before, with another key or value, or by a forged header",
            )


def _sent_before(settings: Settings, lease: Lease, repairs: Repairs) -> dict[str, str]:
    """The originals of the file whose copies are in the log. An interrupted redrive is looked up there, and completed.

    Before records are sent, the log is read on from where the last redrive began, or from the start of a topic without
    one: control tables can be lost, or restored from an older copy, and the log cannot.
    """
    interrupted = _completed(settings, lease)
    sent = redrives.sent_origins(settings, repairs.lines)
    if len(sent) == len(repairs.lines):
        return sent
    _record_others(settings, lease, repairs, interrupted)
    return redrives.sent_origins(settings, repairs.lines)


def _completed(settings: Settings, lease: Lease) -> set[str]:
    """Completes the interrupted redrives with what they have sent; returns all that they were to send."""
    intents = [each.seq for each in redrives.outlines(settings) if each.state == "intent"]
    positions = set[str]()
    for previous in redrives.read_redrives(settings, intents):
        copies = read_copies(settings, previous.ends.topics, previous.ends)
        # Only copies with the bytes of the intent: others have a forged header.
        sent = {origin: digest for origin, digest in previous.origins.items() if digest in copies.get(origin, ())}
        redrives.add_redrive(settings, lease, replace(previous, state="done", origins=sent, at=datetime.now(UTC)))
        positions |= previous.origins.keys()
    return positions


def _record_others(settings: Settings, lease: Lease, repairs: Repairs, interrupted: Collection[str]) -> None:
    """Records copies in the log that no redrive of the table names, nor an interrupted one."""
    all_previous = redrives.outlines(settings)
    start = latest_ends(each.ends for each in all_previous)
    ends = kafka_admin.end_offsets(settings, repairs.topics)
    copies = read_copies(settings, repairs.topics, start)
    recorded = {*redrives.sent_origins(settings, copies), *interrupted}
    others = {origin: _fingerprint(repairs, origin, copies[origin]) for origin in sorted(copies.keys() - recorded)}
    if others or not set(repairs.topics) <= set(start.topics):
        seq = max((each.seq for each in all_previous), default=0) + 1
        redrives.add_redrive(settings, lease, Redrive(seq, "done", ends, others, datetime.now(UTC), current_user()))


def _fingerprint(repairs: Repairs, origin: str, fingerprints: Collection[str]) -> str:
    """That of the file's own repair, if the log has it. Else which is forged is not known: see _check_same."""
    line = repairs.lines.get(origin)
    return line.fingerprint if line and line.fingerprint in fingerprints else min(fingerprints)


def _send(settings: Settings, catalog: Catalog, lease: Lease, repairs: Repairs, positions: Sequence[str]) -> None:
    origins = {position: repairs.lines[position].fingerprint for position in positions}
    sizes = Counter(repairs.lines[position].position.topic for position in positions)
    seq = max((previous.seq for previous in redrives.outlines(settings)), default=0) + 1
    ends = kafka_admin.end_offsets(settings, sorted(sizes))
    intent = Redrive(seq, "intent", ends, origins, datetime.now(UTC), current_user())
    faults.at("redrive.0_before_intent")
    redrives.add_redrive(settings, lease, intent)
    renew = partial(lease.renew, settings.lease_seconds / 6)
    for topic, count in sorted(sizes.items()):
        copies = _copies(catalog.topic(topic), repairs.of(topic, positions))
        with bar(f"sending to {topic}", count) as progress:
            sent = send_fenced(settings, topic, copies, renew, progress)
        if sent.acknowledged < count:
            raise TryAgain(
                f"{count - sent.acknowledged} of {count} records of {topic} were not acknowledged",
                where=", ".join(sent.failures[:1]),
                fix="run the command again: it finds what arrived, and sends the rest",
            )
    faults.at("redrive.2_before_done")
    redrives.add_redrive(settings, lease, replace(intent, state="done", at=datetime.now(UTC)))


def _copies(topic: Topic, repairs: Iterable[Repair]) -> Iterator[OutgoingRecord]:
    for repair in repairs:
        faults.at("redrive.1_in_send")
        at = epoch_millis(repair.original.timestamp) if topic.event_time is None else None
        yield OutgoingRecord(repair.repaired.key, repair.repaired.value, at, tuple(repair.headers))
