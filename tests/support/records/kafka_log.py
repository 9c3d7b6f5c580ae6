"""Reads and writes the log with plain Kafka clients. The oracle computes the expected rows from these records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from infra.kafka.client_config import librdkafka
from infra.settings import Settings
from tests.support.oracle.view_oracle import Record

Headers = tuple[tuple[str, bytes | None], ...]
Ends = dict[tuple[str, int], int]
DEADLINE = 30.0


class Sent(NamedTuple):
    """A record that a test sends."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None


class Log:
    """The records of some topics. Each call of ``read`` adds the new ones."""

    def __init__(self, settings: Settings, topics: Sequence[str]) -> None:
        self.settings = settings
        self.topics = topics
        self.records: list[Record] = []
        self.headers: dict[tuple[str, int, int], Headers] = {}
        self.ends: Ends = {}

    def read(self) -> list[Record]:
        """Reads up to the current high watermarks. Returns every record once, sorted by topic, partition and offset."""
        consumer = Consumer(
            {
                **librdkafka(self.settings),
                "group.id": "oracle",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "fetch.message.max.bytes": 8 << 20,
                "fetch.wait.max.ms": 5,  # otherwise each partition waits for the pending fetch of the previous one
                "log_level": 0,
            }
        )
        try:
            for (topic, partition), end in self._watermarks(consumer).items():
                self._read(consumer, topic, partition, self.ends.get((topic, partition), 0), end)
        finally:
            consumer.close()
        self.records.sort(key=lambda r: (r.topic, r.partition, r.offset))
        return self.records

    def below(self, ends: Ends) -> list[Record]:
        """The records below these end offsets."""
        return [r for r in self.records if r.offset < ends.get((r.topic, r.partition), 0)]

    def since(self, ends: Ends) -> list[Record]:
        """The records at and after these end offsets."""
        return [r for r in self.records if r.offset >= ends.get((r.topic, r.partition), 0)]

    def _watermarks(self, consumer: Consumer) -> Ends:
        topic_metadata = consumer.list_topics(timeout=DEADLINE).topics
        partitions = [(t, p) for t in self.topics if t in topic_metadata for p in topic_metadata[t].partitions]
        high_watermarks = {}
        for topic, partition in partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=DEADLINE)
            assert low <= self.ends.get((topic, partition), 0), f"{topic}/{partition} begins at {low}"
            high_watermarks[topic, partition] = high
        return high_watermarks

    def copies(self) -> Counter[bytes]:
        """How many redriven copies of each original were read."""
        all_headers = map(dict, self.headers.values())
        return Counter(headers["lk_origin"] or b"" for headers in all_headers if "lk_origin" in headers)

    def _read(self, consumer: Consumer, topic: str, partition: int, start: int, end: int) -> None:
        if start == end:
            return
        consumer.assign([TopicPartition(topic, partition, start)])
        for offset in range(start, end):
            message = consumer.poll(DEADLINE)
            assert message is not None, f"no record at {topic}/{partition}/{offset}"
            assert message.error() is None, message.error()
            assert message.offset() == offset
            self.records.append(
                Record(topic, partition, offset, message.timestamp()[1], message.key(), message.value())
            )
            self.headers[topic, partition, offset] = _headers(message)
        self.ends[topic, partition] = end


def _headers(message: Message) -> Headers:
    headers: Any = message.headers() or ()
    return tuple((str(name), value) for name, value in headers)


@cache
def _producer(login: frozenset[tuple[str, Any]]) -> Producer:
    """One producer per process, because a new idempotent producer takes half a second to get its id."""
    return Producer(
        {
            **dict(login),
            "enable.idempotence": True,
            "acks": "all",
            "message.max.bytes": 4 << 20,
            "log_level": 0,
        }
    )


def send(settings: Settings, records: Iterable[Sent]) -> int:
    """Sends records and returns their number. Fails unless the broker acknowledges every record."""
    failed: list[str] = []
    acknowledged = 0

    def report(error: object, message: Message) -> None:
        nonlocal acknowledged
        acknowledged += 1
        if error is not None:
            failed.append(str(error))

    producer = _producer(frozenset(librdkafka(settings).items()))
    count, fetched_topics = 0, set[str]()
    for record in records:
        if record.topic not in fetched_topics:  # the topic may have got more partitions since the last metadata request
            producer.list_topics(record.topic, DEADLINE)
            fetched_topics.add(record.topic)
        target: Any = {} if record.partition is None else {"partition": record.partition}
        producer.produce(
            record.topic, record.value, record.key, headers=list(record.headers), on_delivery=report, **target
        )
        count += 1
    assert producer.flush(DEADLINE) == 0, "records are still in the queue"
    assert failed == []
    assert acknowledged == count
    return count
