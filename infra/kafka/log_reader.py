"""Reads the committed records of one partition with a plain consumer, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from infra.kafka import kafka_admin, kafka_errors
from infra.kafka.client_config import librdkafka
from infra.settings import Settings

_BLOCK = 5_000
_PATIENCE = 130.0  # seconds; the broker aborts a transaction whose process was killed after two minutes


def committed_records(
    settings: Settings, topic: str, partition: int, start: int = 0, patience: float = _PATIENCE
) -> Iterator[Message]:
    """Every committed record from ``start``, or the first that is left, to the end of the partition.

    Raises TryAgain when nothing comes for ``patience`` seconds: Kafka does not answer, or a transaction stays open.
    """
    conf: dict[str, Any] = {**librdkafka(settings), "group.id": "lk_reader", "isolation.level": "read_committed"}
    conf |= {"enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error", "log_level": 0}
    first = kafka_admin.start_offsets(settings, [topic]).end(topic, partition)
    end = kafka_admin.end_offsets(settings, [topic]).end(topic, partition)  # also of transactions that are open
    consumer = Consumer(conf | {"error_cb": lambda _: None})
    try:
        consumer.assign([TopicPartition(topic, partition, max(start, first))])
        while True:
            messages = consumer.consume(1, patience)
            if not messages:
                raise kafka_errors.unavailable(settings, "no records arrived, or a transaction stays open")
            for message in messages + consumer.consume(_BLOCK, 0):  # with a timeout it would wait for a whole block
                error = message.error()
                if error is None:
                    yield message
                elif error.code() != KafkaError._PARTITION_EOF:
                    raise kafka_errors.read_failed(settings, error)
                elif (message.offset() or 0) >= end:
                    return
    except KafkaException as e:
        raise kafka_errors.read_failed(settings, e.args[0]) from None
    finally:
        consumer.close()
