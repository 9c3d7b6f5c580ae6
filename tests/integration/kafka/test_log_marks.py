"""Marks of a log of any length cost one record of each partition."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Message

from core.catalog import Catalog
from core.identifiers import Name
from core.positions import LogPartition
from core.topic import Lines, Topic
from infra.kafka import log_marks, topic_admin
from infra.settings import Settings
from tests.support.records.kafka_log import Sent, send

TOPIC, PARTITIONS, RECORDS = "long_log", 4, 10_000


class CountingConsumer(Consumer):
    """Counts what it hands over."""

    polled = 0

    def poll(self, timeout: float = -1) -> Message | None:
        self.polled += 1
        return super().poll(timeout)


def test_the_records_after_a_mark_are_not_read(stack: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka answers for one partition long before another. 20 million records were read to mark four of them."""
    topic_admin.create_topics(stack, Catalog({Name(TOPIC): Topic(TOPIC, Lines("(.*)"), (), partitions=PARTITIONS)}, {}))
    value = b"x" * 200
    send(stack, (Sent(TOPIC, b"k", value, (), part) for part in range(PARTITIONS) for _ in range(RECORDS)))
    monkeypatch.setattr(log_marks, "Consumer", CountingConsumer)
    with log_marks.record_reader(stack) as reader:
        for offset in (0, 17, 9_000):
            records = reader.records({LogPartition(TOPIC, partition): offset for partition in range(PARTITIONS)})
            assert sorted((place[1], message.offset()) for place, message in records.items()) == [
                (partition, offset) for partition in range(PARTITIONS)
            ]
        assert isinstance(reader._consumer, CountingConsumer)
        assert reader._consumer.polled <= 3 * PARTITIONS
