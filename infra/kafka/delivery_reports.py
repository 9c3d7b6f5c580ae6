"""Counts delivery reports: records acknowledged per partition, failed records with reasons, records to resend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message

from infra import clock
from infra.kafka.input_files import OutgoingRecord

MAX_RECORD_BYTES = 3 * 1024 * 1024  # the local broker accepts a little more: message.max.bytes
_MAX_REASONS = 20  # failures kept with their reason; all are counted
DELIVERY_TIMEOUT_MS = 60_000
_FUTURE_MS = 3_600_000  # message.timestamp.after.max.ms, Kafka's default
_MAX_RESENDS = 3


@dataclass(frozen=True)
class PartitionDelivery:
    """Acknowledged records of one partition: their count, first and last offset."""

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
    """Counts of all delivery reports: partition → [count, first offset, last offset], and failed records.

    ``sent`` counts the records that were passed to librdkafka, without those that were sent again.

    Kafka rejects a whole batch for one bad record. The other records of that batch go to ``to_resend``.
    """

    acknowledged_offsets: dict[int, list[int]] = field(default_factory=dict)
    sent: int = 0
    failed: int = 0
    failures: list[FailedRecord] = field(default_factory=list)
    to_resend: list[tuple[int, OutgoingRecord]] = field(default_factory=list)
    resends: int = 0

    @property
    def acknowledged(self) -> int:
        """Records acknowledged."""
        return sum(count for count, _, _ in self.acknowledged_offsets.values())

    def acknowledge(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if partition is None or offset is None:
            raise AssertionError("an acknowledged record has a partition and an offset")
        offsets = self.acknowledged_offsets.get(partition)
        if offsets is None:
            self.acknowledged_offsets[partition] = [1, offset, offset]
            return
        offsets[0] += 1
        if offset > offsets[2]:
            offsets[2] = offset
        elif offset < offsets[1]:
            offsets[1] = offset

    def resend_or_fail(self, number: int, record: OutgoingRecord, error: KafkaError) -> None:
        if self.resends < _MAX_RESENDS and _failed_for_another(error, record):
            self.to_resend.append((number, record))
        else:
            self.fail(number, error)

    def fail(self, number: int, error: KafkaError) -> None:
        self.failed += 1
        if len(self.failures) < _MAX_REASONS:
            self.failures.append(FailedRecord(number, failure_reason(error)))


class Batch:
    """Records that are sent one after another and share one callback for their delivery reports.

    ``numbers`` are their numbers in the input. A callback for each record would be millions of objects that Python's
    garbage collector visits. So a failed record is found by its key and value, and a batch of several records has
    none with a timestamp or headers: equal ones may take each other's place.
    """

    def __init__(self, account: DeliveryAccount, numbers: Sequence[int], records: Sequence[OutgoingRecord]) -> None:
        self.records = records
        self._account = account
        self._numbers = numbers
        self._unreported: dict[object, list[int]] | None = None

    def report(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._account.acknowledge(message)
        else:
            place = self._place(message)
            self._account.resend_or_fail(self._numbers[place], self.records[place], error)

    def fail(self, place: int, error: KafkaError) -> None:
        """Counts a record that librdkafka did not take."""
        self._account.fail(self._numbers[place], error)

    def _place(self, message: Message) -> int:
        """Which of the records it is."""
        if self._unreported is None:
            self._unreported = {}
            for place, record in reversed(list(enumerate(self.records))):
                self._unreported.setdefault((record.key, record.value), []).append(place)
        return self._unreported[(message.key(), message.value())].pop()


def _failed_for_another(error: KafkaError, record: OutgoingRecord) -> bool:
    """Whether the record failed only because of another one in its batch."""
    if error.code() != KafkaError.INVALID_TIMESTAMP:
        return bool(error.code() == KafkaError._INVALID_DIFFERENT_RECORD)
    return (record.timestamp or 0) <= clock.now_ms() + _FUTURE_MS


def failure_reason(error: KafkaError) -> str:
    """The reason of a delivery error, with what to change."""
    code = error.code()
    if code == KafkaError.INVALID_TIMESTAMP:
        return "its timestamp is more than one hour in the future, which Kafka rejects; correct it or use --time now"
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return f"it is larger than {MAX_RECORD_BYTES // 1024**2} MiB, the maximum"
    if code in (KafkaError._MSG_TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
        return f"Kafka did not answer within {DELIVERY_TIMEOUT_MS // 1000} s; see `lk status`"
    return str(error.str())
