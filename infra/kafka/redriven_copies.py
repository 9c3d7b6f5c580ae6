"""The copies of quarantined records that a redrive sent to Kafka: read back from their topics."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from confluent_kafka import Message

from core.cut import Cut
from core.decoding.redrive_headers import origin_of
from core.identifiers import Name
from core.positions import RecordPosition
from infra.kafka import kafka_admin
from infra.kafka.log_reader import committed_records
from infra.kafka.message_content import headers_of
from infra.settings import Settings


def fingerprint(key: bytes | None, value: bytes | None) -> str:
    """A digest of a record's key and value."""
    return hashlib.sha256(repr((key, value)).encode()).hexdigest()[:16]


def read_copies(settings: Settings, topics: Iterable[Name], start: Cut) -> dict[str, set[str]]:
    """The redriven copies in these topics from ``start`` on: origin -> fingerprints.

    Of several with one origin, a producer forged the header of some. A header that names no position in the record's
    own topic is forged, and left out. Raises TryAgain when Kafka does not answer.
    """
    copies: dict[str, set[str]] = {}
    for topic, count in kafka_admin.partitions(settings, topics).items():
        for partition in range(count):
            for message in committed_records(settings, topic, partition, start.end(topic, partition)):
                if (origin := _origin(message, topic, count)) is not None:
                    copies.setdefault(origin, set()).add(fingerprint(message.key(), message.value()))
    return copies


def _origin(message: Message, topic: Name, partitions: int) -> str | None:
    """The position that a copy names; None for another record, and for a position that no redrive writes."""
    origin = origin_of(headers_of(message)) or ""
    try:
        position = RecordPosition.parse(origin)
    except ValueError:
        return None
    return origin if position.topic == topic and position.partition < partitions else None
