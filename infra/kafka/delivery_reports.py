"""Delivery reports: what was acknowledged where, what failed and why, and what must be sent once more."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message

from infra.kafka.input_files import OutgoingRecord

MAX_RECORD_BYTES = 3 * 1024 * 1024  # bytes of a record, as the local broker is configured
_NAMED = 20  # failures kept with their reason; all are counted
DELIVERY_TIMEOUT_MS = 60_000
_FUTURE_MS = 3_600_000  # message.timestamp.after.max.ms, Kafka's default
_ROUNDS = 3


@dataclass(frozen=True)
class PartitionDelivery:
    """What one partition acknowledged: how many records, and the first and last of their offsets."""

    partition: int
    count: int
    first: int
    last: int


@dataclass(frozen=True)
class FailedRecord:
    """A record that was not acknowledged; ``number`` counts from 1 in the order of the input."""

    number: int
    reason: str


@dataclass
class DeliveryAccount:
    """Filled by delivery reports: partition -> count, first and last offset; failures by record number.

    Kafka refuses a whole batch for one bad record; the others of that batch are ``innocent`` and are sent again.
    """

    written: dict[int, list[int]] = field(default_factory=dict)
    acknowledged: int = 0
    failed: int = 0
    failures: list[FailedRecord] = field(default_factory=list)
    innocent: list[tuple[int, OutgoingRecord]] = field(default_factory=list)
    rounds: int = 0

    def report(self, number: int, record: OutgoingRecord, error: KafkaError | None, message: Message) -> None:
        if error is not None and self.rounds < _ROUNDS and _blameless(error, record):
            self.innocent.append((number, record))
            return
        if error is not None:
            self.fail(number, error)
            return
        self.acknowledged += 1
        partition, offset = message.partition(), message.offset()
        if partition is None or offset is None:
            raise AssertionError("an acknowledged record has a place in the log")
        seen = self.written.setdefault(partition, [0, offset, offset])
        seen[0] += 1
        seen[1] = min(seen[1], offset)
        seen[2] = max(seen[2], offset)

    def fail(self, number: int, error: KafkaError) -> None:
        self.failed += 1
        if len(self.failures) < _NAMED:
            self.failures.append(FailedRecord(number, failure_reason(error)))


def _blameless(error: KafkaError, record: OutgoingRecord) -> bool:
    """Whether the record failed only because of another one in its batch; Kafka blames all for one bad time."""
    if error.code() != KafkaError.INVALID_TIMESTAMP:
        return bool(error.code() == KafkaError._INVALID_DIFFERENT_RECORD)
    return (record.timestamp or 0) <= time.time_ns() // 1_000_000 + _FUTURE_MS


def failure_reason(error: KafkaError) -> str:
    """A delivery error in words that say what to change."""
    code = error.code()
    if code == KafkaError.INVALID_TIMESTAMP:
        return "its time is more than one hour in the future, which Kafka refuses; correct the times or use --time now"
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return f"it is larger than {MAX_RECORD_BYTES // 1024**2} MiB, the most that is sent or taken"
    if code in (KafkaError._MSG_TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
        return f"Kafka did not answer within {DELIVERY_TIMEOUT_MS // 1000} s; see `lk status`"
    return str(error.str())
