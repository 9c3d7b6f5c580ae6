"""One Kafka transaction for one source partition of a consumer group: copied records and the new committed offset.

Each group and partition has its own transactional id, so opening a transaction fences the process that had it before,
even a paused one. The committed offset is read after that, when no other transaction can be open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from core.errors import LkError, Refused, TryAgain
from infra.kafka import kafka_errors
from infra.kafka.client_config import librdkafka
from infra.kafka.route_positions import Position, position
from infra.settings import Settings

_DEADLINE = 30.0
_ABORT_TIMEOUT = 5.0
TIMEOUT_MS = 120_000  # the broker aborts a transaction that takes longer
_LARGEST_REQUEST = 32 * 1024 * 1024
_QUEUED_KIB = 64 * 1024  # more than one request; what exceeds it waits, so a slow broker is noticed in time


@dataclass
class Transaction:
    """An open transaction; ``position`` is what the group has committed. Without ``commit`` it is aborted."""

    producer: Producer
    position: Position
    _consumer: Consumer
    _part: TopicPartition
    _committed: bool = False

    def send(self, topic: str, partition: int, record: dict[str, Any]) -> None:
        """Adds a record: key, value, headers, timestamp (milliseconds)."""
        while True:
            try:
                self.producer.produce(topic, partition=partition, **record)
            except BufferError:
                self.producer.poll(0.05)
            else:
                return

    def commit(self, position: Position) -> None:
        """Makes the records and the new position visible atomically.

        Raises KafkaException, with nothing visible, when a write failed or another process fenced this one.
        """
        part = TopicPartition(self._part.topic, self._part.partition, position.offset, position.metadata)
        self.producer.send_offsets_to_transaction([part], self._consumer.consumer_group_metadata(), _DEADLINE)
        self.producer.commit_transaction(_DEADLINE)
        self._committed = True

    def abort(self) -> None:
        """Aborts unless committed; read_committed consumers would wait until the broker's timeout."""
        if not self._committed:
            with suppress(KafkaException):
                self.producer.purge()
                self.producer.abort_transaction(_ABORT_TIMEOUT)


@contextmanager
def transaction(settings: Settings, group: str, topic: str, partition: int, *, start: int) -> Iterator[Transaction]:
    """Fences the previous process of this partition and begins at the committed offset, or ``start`` if there is none.

    Raises TryAgain when another process fenced this one or Kafka does not answer, Refused when Kafka rejects it.
    """
    part = TopicPartition(topic, partition)
    common = {**librdkafka(settings), "log_level": 0, "error_cb": lambda _: None}
    producer = Producer(
        common
        | {
            "transactional.id": f"{group}-{topic}-{partition}",
            "transaction.timeout.ms": TIMEOUT_MS,
            "compression.type": "lz4",
            "linger.ms": 20,
            "batch.size": 1_000_000,
            "message.max.bytes": _LARGEST_REQUEST,  # what the output topic takes is decided by its own limit
            "queue.buffering.max.messages": 200_000,
            "queue.buffering.max.kbytes": _QUEUED_KIB,
        }
    )
    consumer = Consumer(common | {"group.id": group, "isolation.level": "read_committed", "enable.auto.commit": False})
    try:
        producer.init_transactions(_DEADLINE)
        (committed,) = consumer.committed([part], timeout=_DEADLINE)
        producer.begin_transaction()
        opened = Transaction(producer, position(committed, start), consumer, part)
        try:
            yield opened
        finally:
            opened.abort()
    except KafkaException as e:
        raise _failed(settings, group, part, e.args[0]) from None
    finally:
        consumer.close()


def _failed(settings: Settings, group: str, part: TopicPartition, error: KafkaError) -> LkError:
    where = f"{part.topic}, partition {part.partition}, group {group}, {settings.bootstrap_servers}"
    if error.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
        return TryAgain("another process has taken over", where=where, fix="nothing was copied; see `lk route status`")
    if kafka_errors.is_transient(error):
        return TryAgain(f"Kafka does not answer: {error.str()}", where=where, fix="start Kafka, then `lk route start`")
    return Refused(f"Kafka refused a transaction: {error.str()}", where=where, fix="read the broker's log")
