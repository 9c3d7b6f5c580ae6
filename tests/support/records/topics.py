"""Deletes and truncates topics."""

from __future__ import annotations

from confluent_kafka import TopicPartition

from infra.kafka import admin_requests, kafka_admin
from infra.settings import Settings
from tests.support.waiting import eventually


def delete(settings: Settings, topic: str) -> None:
    """Deletes a topic and waits until it is gone from the metadata, which happens after the broker's answer."""
    admin_requests.admin_client(settings).delete_topics([topic], operation_timeout=30)[topic].result(30)

    def gone() -> None:
        assert topic not in kafka_admin.partition_counts(settings)

    eventually(settings, 30, gone)


def truncate(settings: Settings, topic: str, partition: int, before: int) -> None:
    """Deletes the records of a partition below an offset."""
    target = TopicPartition(topic, partition, before)
    admin_requests.admin_client(settings).delete_records([target])[TopicPartition(topic, partition)].result(30)
