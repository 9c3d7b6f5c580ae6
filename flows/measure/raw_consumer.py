"""The raw consumer: one Python process that reads a topic and does nothing with it. The reference for rates."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition

from core.errors import TryAgain
from core.identifiers import Name
from infra.kafka import kafka_admin
from infra.kafka.client_config import librdkafka
from infra.settings import Settings


def rate(settings: Settings, topic: Name) -> float:
    """Records a second, from offset 0 to the current end of the topic."""
    end = kafka_admin.end_offsets(settings, [topic])
    conf = {**librdkafka(settings), "group.id": "lk-bench", "log_level": 0}
    consumer = Consumer({**conf, "fetch.queue.backoff.ms": 10, "enable.auto.commit": False})
    consumer.assign([TopicPartition(str(name), partition, 0) for name, partition, _ in end.ends])
    total, seen, began = end.size, 0, time.monotonic()
    while seen < total:
        messages = consumer.consume(min(10_000, total - seen), timeout=10)  # waits until it has that many
        if not messages:
            raise TryAgain("the topic cannot be read to its end", where=f"{seen:,} of {total:,} records")
        seen += len(messages)
    seconds = time.monotonic() - began
    consumer.close()
    return seen / seconds
