"""Sends records under a lease: each reaches Kafka before another process can take the lease over, or is never sent.

Kafka fences a producer by transactions only, whose markers are offsets without a record; topics must not have any. So
the records of a chunk first wait in the producer's queue. Then the lease is renewed, and only then are they sent. The
queue drops a record that has waited for a third of the lease's time, so a process that was paused anywhere in between
has nothing left to send when it wakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from core.identifiers import Name
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import options
from infra.settings import Settings

CHUNK = 500  # records
_CHUNK_BYTES = 2 * 1024 * 1024
_FULL = 2**31 - 1  # bytes: no batch is full, so none is sent before its chunk


@dataclass
class SendResult:
    """How many records Kafka has acknowledged, and why it did not acknowledge the others."""

    acknowledged: int = 0
    failures: list[str] = field(default_factory=list)

    def report(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.failures.append(str(error.str()))


def send_fenced(
    settings: Settings,
    topic: Name,
    records: Iterable[OutgoingRecord],
    renew: Callable[[], None],
    progress: Callable[[float], None],
) -> SendResult:
    """Sends records to an existing topic, and stops at the first chunk that is not acknowledged in full.

    ``renew`` renews the lease, and raises when another process has taken it over; then nothing of the chunk is sent.
    """
    seconds = settings.lease_seconds / 3
    producer, sent = _producer(settings, seconds), SendResult()
    count = size = 0
    try:
        for record in records:
            _queue(producer, topic, record, sent)
            count, size = count + 1, size + _bytes(record)
            if count == CHUNK or size > _CHUNK_BYTES:
                renew()  # from here on nobody can take the lease over while the queue may send
                producer.flush(2 * seconds)
                progress(sent.acknowledged)
                count = size = 0
            if sent.failures:
                return sent
        renew()
        producer.flush(2 * seconds)
    finally:
        producer.purge()
        producer.flush(1)
    return sent


def _producer(settings: Settings, seconds: float) -> Producer:
    oldest_ms = int(seconds * 1000)
    return Producer(
        options(settings)
        | {
            "client.id": "lk-redrive",
            "message.timeout.ms": oldest_ms,
            "request.timeout.ms": oldest_ms,
            "linger.ms": oldest_ms - 1,  # flush() does not wait for it
            "batch.size": _FULL,
            "batch.num.messages": 2 * CHUNK,
            "queue.buffering.max.messages": 2 * CHUNK,
        }
    )


def _queue(producer: Producer, topic: Name, record: OutgoingRecord, sent: SendResult) -> None:
    timestamp, headers = record.timestamp or 0, cast("Any", list(record.headers))  # 0 is now
    try:
        producer.produce(topic, record.value, record.key, on_delivery=sent.report, timestamp=timestamp, headers=headers)
    except KafkaException as e:
        sent.failures.append(str(e.args[0].str()))


def _bytes(record: OutgoingRecord) -> int:
    fields = (record.key, record.value, *(value for _, value in record.headers))
    return sum(len(value) for value in fields if value)
