"""The copies of quarantined records that a redrive sent to Kafka: read back from their topics."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from core.cut import Cut
from core.decoding.redrive_headers import origin_of
from core.identifiers import Name
from infra.kafka import kafka_admin
from infra.kafka.client_config import librdkafka
from infra.settings import Settings

_BLOCK = 5_000


def fingerprint(key: bytes | None, value: bytes | None) -> str:
    """A digest of a record's key and value."""
    return hashlib.sha256(repr((key, value)).encode()).hexdigest()[:16]


def read_copies(settings: Settings, topics: Iterable[Name], start: Cut) -> dict[str, str]:
    """The redriven copies in these topics from ``start`` on: origin -> fingerprint.

    Raises TryAgain when Kafka does not answer.
    """
    names = list(topics)
    log_starts = kafka_admin.start_offsets(settings, names)
    counts = kafka_admin.partitions(settings, names)
    assigned = [
        TopicPartition(str(name), partition, max(log_starts.end(name, partition), start.end(name, partition)))
        for name, count in counts.items()
        for partition in range(count)
    ]
    conf: dict[str, Any] = {**librdkafka(settings), "group.id": "lk_redrive"}
    conf |= {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error", "log_level": 0}
    consumer = Consumer(conf | {"error_cb": lambda _: None})
    copies: dict[str, str] = {}
    try:
        consumer.assign(assigned)
        unread = {(partition.topic, partition.partition) for partition in assigned}
        while unread:
            messages = consumer.consume(1, kafka_admin.DEADLINE)
            if not messages:
                raise kafka_admin.unavailable(settings, "no records arrived")
            for message in messages + consumer.consume(_BLOCK, 0):  # with a timeout it would wait for a whole block
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    unread.discard((message.topic() or "", message.partition() or 0))
                elif error is not None:
                    raise kafka_admin.unavailable(settings, error.str())
                else:
                    copies |= _copy(message)
    except KafkaException as e:
        raise kafka_admin.unavailable(settings, str(e)) from None
    finally:
        consumer.close()
    return copies


def _copy(message: Message) -> dict[str, str]:
    headers: Any = message.headers() or ()
    origin = origin_of(headers)
    return {origin: fingerprint(message.key(), message.value())} if origin else {}
