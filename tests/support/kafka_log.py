"""The log itself, read back and written with plain Kafka clients: what the oracle is computed from."""

from __future__ import annotations

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
    """What a test sends."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None


class Log:
    """All records of some topics so far; each call of ``read`` adds those that are new."""

    def __init__(self, settings: Settings, topics: Sequence[str]) -> None:
        self.settings = settings
        self.topics = topics
        self.records: list[Record] = []
        self.headers: dict[tuple[str, int, int], Headers] = {}
        self.ends: Ends = {}

    def read(self) -> list[Record]:
        """Every record up to the high watermarks of this moment, each once, in order of its place."""
        consumer = Consumer(
            {
                **librdkafka(self.settings),
                "group.id": "oracle",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "fetch.message.max.bytes": 8 << 20,
                "fetch.wait.max.ms": 5,  # else a partition waits for the last fetch of the one before
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
        """The records before these ends."""
        return [r for r in self.records if r.offset < ends.get((r.topic, r.partition), 0)]

    def since(self, ends: Ends) -> list[Record]:
        """The records from these ends on."""
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
def _producer(servers: str) -> Producer:
    """One for all that a process sends: a new one takes half a second to be given its id."""
    return Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "acks": "all",
            "message.max.bytes": 4 << 20,
            "log_level": 0,
        }
    )


def send(settings: Settings, records: Iterable[Sent]) -> int:
    """Sends records and returns how many; every one of them is acknowledged."""
    failed: list[str] = []
    acknowledged = 0

    def report(error: object, message: Message) -> None:
        nonlocal acknowledged
        acknowledged += 1
        if error is not None:
            failed.append(str(error))

    producer = _producer(settings.bootstrap_servers)
    count, fetched_topics = 0, set[str]()
    for record in records:
        if record.topic not in fetched_topics:  # it may have more partitions since this producer last asked
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
