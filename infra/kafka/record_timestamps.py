"""Timestamps of the last records before given offsets."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from confluent_kafka import Consumer, KafkaException, TopicPartition

from core.errors import TryAgain
from core.identifiers import Name
from infra.kafka.client_config import librdkafka
from infra.settings import Settings

DEADLINE = 5.0


def last_timestamps(settings: Settings, ends: Iterable[tuple[Name, int, int]]) -> dict[tuple[Name, int, int], datetime]:
    """(topic, partition, end) → timestamp of the record at ``end - 1``, UTC. Removed records are left out."""
    requested = {(str(topic), partition): (topic, partition, end) for topic, partition, end in ends if end > 0}
    timestamps: dict[tuple[Name, int, int], datetime] = {}
    if not requested:
        return timestamps
    consumer = Consumer(
        {
            **librdkafka(settings),
            "group.id": "lk_status",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(t, p, end - 1) for (t, p), (_, _, end) in requested.items()])
        waiting = dict(requested)
        while waiting:
            message = consumer.poll(DEADLINE)
            if message is None:
                break
            key = (message.topic() or "", message.partition() or 0)
            if message.error() or key not in waiting:
                waiting.pop(key, None)
                continue
            timestamps[waiting.pop(key)] = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC)
    except KafkaException as e:
        raise TryAgain(
            f"Kafka does not answer: {e}", where=settings.bootstrap_servers, fix="start it: `lk up`"
        ) from None
    finally:
        consumer.close()
    return timestamps
