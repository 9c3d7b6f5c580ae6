"""The copies of quarantined records that a redrive sent to Kafka: read back from their topics."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Message

from core.cut import Cut
from core.decoding.redrive_headers import origin_of
from core.identifiers import Name
from infra.kafka import kafka_admin
from infra.kafka.log_reader import committed_records
from infra.settings import Settings


def fingerprint(key: bytes | None, value: bytes | None) -> str:
    """A digest of a record's key and value."""
    return hashlib.sha256(repr((key, value)).encode()).hexdigest()[:16]


def read_copies(settings: Settings, topics: Iterable[Name], start: Cut) -> dict[str, str]:
    """The redriven copies in these topics from ``start`` on: origin -> fingerprint.

    Raises TryAgain when Kafka does not answer.
    """
    copies: dict[str, str] = {}
    for topic, count in kafka_admin.partitions(settings, topics).items():
        for partition in range(count):
            for message in committed_records(settings, topic, partition, start.end(topic, partition)):
                copies |= _copy(message)
    return copies


def _copy(message: Message) -> dict[str, str]:
    headers: Any = message.headers() or ()
    origin = origin_of(headers)
    return {origin: fingerprint(message.key(), message.value())} if origin else {}
