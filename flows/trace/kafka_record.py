"""The record as Kafka has it, read without a consumer group."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message

from core.errors import LkError, Usage
from core.identifiers import Name
from core.positions import LogPartition
from core.topic import Topic
from core.unix_time import UNIX_EPOCH
from flows.trace.cells import LONGEST, problem_text
from flows.trace.stages import Content, KafkaRecord
from infra.kafka import kafka_admin
from infra.kafka.log_marks import record_reader
from infra.kafka.message_content import UNREADABLE, bytes_of, headers_of
from infra.settings import Settings

_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # milliseconds of the years 1 and 9999, which Python has


@dataclass(frozen=True)
class RawRecord:
    """A record with all of its bytes, as the columns of Kafka's source; ``timestamp`` is epoch milliseconds."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    timestamp_type: int


@dataclass(frozen=True)
class KafkaStage:
    """The stage, the bytes of the record, and Kafka's id of the topic, both None where Kafka does not give them.

    ``error`` is why Kafka does not answer.
    """

    stage: KafkaRecord
    raw: RawRecord | None = None
    topic_id: str | None = None
    error: LkError | None = None


def read_record(settings: Settings, topic: Topic, partition: int, offset: int) -> KafkaStage:
    """Reads one record. Raises Usage for a partition that the topic does not have."""
    try:
        return _read(settings, topic, partition, offset)
    except Usage:
        raise
    except LkError as e:
        return KafkaStage(KafkaRecord("unknown", problem=problem_text(e)), error=e)


def content(data: bytes | None) -> Content | None:
    """Bytes as they are shown."""
    if data is None:
        return None
    try:
        data.decode("utf-8")
        shown, is_text, longest = data[:LONGEST].decode("utf-8", "ignore"), True, LONGEST
    except UnicodeDecodeError:
        shown, is_text, longest = data[: LONGEST // 2].hex(), False, LONGEST // 2
    return Content(shown, is_text, len(data) > longest, len(data), hashlib.sha256(data).hexdigest())


def _read(settings: Settings, topic: Topic, partition: int, offset: int) -> KafkaStage:
    name = Name(topic.name)
    count = kafka_admin.partitions(settings, [name])[name]
    if partition >= count:
        raise Usage(f"topic {name} has no partition {partition}", fix=f"use one of 0 to {count - 1}")
    topic_id = kafka_admin.topic_ids(settings, [name])[name]
    start = kafka_admin.start_offsets(settings, [name]).end(name, partition)
    end = kafka_admin.end_offsets(settings, [name]).end(name, partition)
    if offset < start:
        note = f"Kafka has removed the records before offset {start} of this partition"
        return KafkaStage(KafkaRecord("removed", start, end, note=note), topic_id=topic_id)
    if offset >= end:
        note = f"the next record of this partition gets offset {end}"
        return KafkaStage(KafkaRecord("not yet", start, end, note=note), topic_id=topic_id)
    with record_reader(settings) as reader:
        message = reader.records({LogPartition(name, partition): offset}).get(LogPartition(name, partition))
    if message is None:
        return KafkaStage(KafkaRecord("no record", start, end, note=_why_none(topic)), topic_id=topic_id)
    raw = _raw(message)
    return KafkaStage(replace(_shown(raw), start=start, end=end), raw, topic_id)


def _why_none(topic: Topic) -> str:
    removed = "compaction removed it, because its key has a later record; else " if topic.compacted else ""
    return f"{removed}it is the marker of a transaction, or a record of one that was aborted or is still open"


def _raw(message: Message) -> RawRecord:
    kind, timestamp = message.timestamp()
    return RawRecord(
        key=bytes_of(message.key()),
        value=bytes_of(message.value()),
        headers=headers_of(message),
        timestamp=timestamp,
        timestamp_type=1 if kind == TIMESTAMP_LOG_APPEND_TIME else 0,
    )


def _shown(raw: RawRecord) -> KafkaRecord:
    return KafkaRecord(
        "there",
        timestamp=UNIX_EPOCH + timedelta(milliseconds=min(max(raw.timestamp, _FIRST), _LAST)),
        timestamp_type="LogAppendTime" if raw.timestamp_type else "CreateTime",
        key=content(raw.key),
        value=content(raw.value),
        headers=tuple((name, content(value)) for name, value in raw.headers if raw.headers != (UNREADABLE,)),
        note="its headers cannot be shown: the name of one is not UTF-8" if raw.headers == (UNREADABLE,) else "",
    )
