"""Reads single records of the log, and compares them with the marks of those that were read before.

A broker that was restored from a copy gives the offsets that it lost to other records: the ends alone do not show it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from core.errors import Refused
from core.log_mark import LogMark, record_digest
from core.positions import LogPartition
from infra.kafka import kafka_errors
from infra.kafka.client_config import librdkafka
from infra.kafka.message_content import bytes_of, headers_of
from infra.settings import Settings

_PATIENCE = 5.0  # seconds without any answer
_ABSENT = (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
_OPTIONS = {
    "group.id": "lk_marks",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 10,
    "queued.min.messages": 1,
    "fetch.queue.backoff.ms": 1,  # after a record that is enough, librdkafka waits a second by default
    "max.partition.fetch.bytes": 65_536,
    "log_level": 0,
}


class RecordReader:
    """Reads single records through one connection."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.sizes: tuple[int, ...] = ()  # bytes of the records that were read last
        self._consumer = Consumer({**librdkafka(settings), **_OPTIONS, "error_cb": lambda _: None})

    def records(self, offsets: Mapping[LogPartition, int]) -> dict[LogPartition, Message]:
        """The record at each offset; those that the log does not have are left out.

        Reads no more of the log: a partition that has answered is not fetched from again while others are awaited.
        Raises TryAgain when Kafka does not answer.
        """
        waiting, records = dict(offsets), dict[LogPartition, Message]()
        try:
            self._consumer.assign([TopicPartition(*partition, offset) for partition, offset in offsets.items()])
            while waiting:
                message = self._consumer.poll(_PATIENCE)
                if message is None:
                    raise kafka_errors.unavailable(self._settings, f"no record of {', '.join(map(str, waiting))} came")
                error = message.error()
                if error is not None and error.code() not in _ABSENT:
                    raise kafka_errors.read_failed(self._settings, error)
                partition = LogPartition(message.topic() or "", message.partition() or 0)
                offset = waiting.pop(partition, None)
                if offset is None:
                    continue
                self._consumer.incremental_unassign([TopicPartition(*partition)])
                if error is None and message.offset() == offset:
                    records[partition] = message
            self._consumer.unassign()
        except KafkaException as e:
            raise kafka_errors.read_failed(self._settings, e.args[0]) from None
        self.sizes = tuple(map(_size, records.values()))
        return records

    def close(self) -> None:
        """Closes the connection."""
        self._consumer.close()


@contextlib.contextmanager
def record_reader(settings: Settings) -> Iterator[RecordReader]:
    """A reader for one block."""
    reader = RecordReader(settings)
    try:
        yield reader
    finally:
        reader.close()


def marks_before(reader: RecordReader, ends: Iterable[tuple[str, int, int]]) -> dict[LogPartition, LogMark]:
    """Partition -> the mark of the record at ``end - 1``; none where Kafka has removed it."""
    offsets = {LogPartition(topic, number): end - 1 for topic, number, end in ends if end > 0}
    return {partition: mark_of(message) for partition, message in reader.records(offsets).items()}


def mark_of(message: Message) -> LogMark:
    """The mark of a record."""
    key, value = bytes_of(message.key()), bytes_of(message.value())
    digest = record_digest(message.timestamp()[1], key, value, headers_of(message))
    return LogMark(message.offset() or 0, digest, message.leader_epoch())


def other_records(reader: RecordReader, marks: Mapping[LogPartition, LogMark]) -> dict[LogPartition, LogMark]:
    """The marks at whose offsets the log now has another record."""
    records = reader.records({partition: mark.offset for partition, mark in marks.items()})
    return {
        partition: marks[partition]
        for partition, message in records.items()
        if not marks[partition].is_of(mark_of(message))
    }


def require_same_log(reader: RecordReader, marks: Mapping[LogPartition, LogMark], *, where: str, fix: str) -> None:
    """Raises Refused when the log has other records than those that were read."""
    if others := other_records(reader, marks):
        raise log_differs(
            {partition: (mark.offset, mark.offset) for partition, mark in others.items()}, where=where, fix=fix
        )


def log_differs(partitions: Mapping[LogPartition, tuple[int, int]], *, where: str, fix: str) -> Refused:
    """The error for other records; by partition, the first offset that may differ and one that does."""
    texts = []
    for (topic, partition), (first, differing) in sorted(partitions.items()):
        offsets = f"offset {differing}" if first == differing else f"one of the offsets {first} to {differing}"
        texts.append(f"topic {topic}, partition {partition}, from {offsets} on")
    return Refused(f"the log has other records than those that were read: {'; '.join(texts)}", where=where, fix=fix)


def _size(message: Message) -> int:
    """Bytes of its key, value and headers: each may be the large one."""
    parts = [message.key(), message.value(), *(value for _, value in headers_of(message))]
    return sum(len(part) for part in map(bytes_of, parts) if part is not None)
