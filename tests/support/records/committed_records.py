"""Reads all committed records of topics with a read_committed consumer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from infra.kafka.client_config import librdkafka
from infra.settings import Settings
from tests.support.oracle.route_oracle import Copies, Copy

ORIGIN = "route_origin"
DEADLINE = 60.0


def copies(settings: Settings, topics: Iterable[str], suffix: str = "") -> Copies:
    """All copies by output and source partition, in consumer order. Duplicates are kept."""
    copies_by_output: Copies = {topic: {} for topic in topics}
    consumer = _consumer(settings)
    try:
        for topic in copies_by_output:
            metadata = consumer.list_topics(topic + suffix, timeout=DEADLINE).topics[topic + suffix]
            for partition in metadata.partitions:
                _read(consumer, TopicPartition(topic + suffix, partition, 0), copies_by_output[topic])
    finally:
        consumer.close()
    return copies_by_output


def origin_at(settings: Settings, place: str) -> bytes:
    """The original that the copy at ``topic/partition/offset`` names."""
    topic, partition, offset = place.split("/")
    consumer = _consumer(settings)
    try:
        consumer.assign([TopicPartition(topic, int(partition), int(offset))])
        message = consumer.poll(DEADLINE)
        assert message is not None, f"nothing is at {place}"
        assert message.error() is None, message.error()
        assert message.offset() == int(offset)
        all_headers: Any = message.headers()
        name, origin = all_headers[-1]
        assert name == ORIGIN
        return bytes(origin)
    finally:
        consumer.close()


def _consumer(settings: Settings) -> Consumer:
    return Consumer(
        {
            **librdkafka(settings),
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 5,
            "log_level": 0,
        }
    )


def _read(
    consumer: Consumer, topic_partition: TopicPartition, output_copies: dict[tuple[str, int], list[tuple[int, Copy]]]
) -> None:
    consumer.assign([topic_partition])
    while True:
        message = consumer.poll(DEADLINE)
        assert message is not None, f"{topic_partition} does not end"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            return
        all_headers: Any = message.headers()
        *headers, (name, origin) = all_headers
        assert name == ORIGIN
        topic, partition, offset = str(origin, "utf-8").split("/")
        copy = Copy(topic_partition.partition, message.key(), message.value(), message.timestamp()[1], tuple(headers))
        output_copies.setdefault((topic, int(partition)), []).append((int(offset), copy))
