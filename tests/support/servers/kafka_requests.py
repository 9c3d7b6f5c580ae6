"""Requests of a client of Kafka, and whether each is allowed, or refused as *not authorized* at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

TOPIC = "rights_cell"
OPEN_GROUP = "open_to_all"  # so that the right to read a topic decides
REFUSED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError._NOENT,  # what librdkafka says of the leaders of a topic that it may not describe
}
SECONDS = 10


def outcome(request: Callable[[], Any]) -> str:
    """ "allowed" or "refused"; any other error fails the test, a deadline too."""
    try:
        request()
    except KafkaException as e:
        code = e.args[0].code()
        if code in REFUSED:
            return "refused"
        if code == KafkaError.GROUP_ID_NOT_FOUND:
            return "allowed"
        raise
    return "allowed"


def results(futures: Any) -> None:
    for future in futures.values():
        future.result(SECONDS)


def write(conf: dict[str, Any], topic: str = TOPIC) -> None:
    errors: list[Any] = []
    producer = Producer(conf | {"message.timeout.ms": SECONDS * 1000})
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(SECONDS)
    (error,) = errors
    if error is not None:
        raise KafkaException(error)


def read(conf: dict[str, Any]) -> None:
    """Reads to the end of the topic, which other cells may have left empty."""
    consumer = Consumer(conf | {"group.id": OPEN_GROUP, "enable.auto.commit": False, "enable.partition.eof": True})
    try:
        if hidden := consumer.list_topics(TOPIC, SECONDS).topics[TOPIC].error:  # who may read may describe
            raise KafkaException(hidden)
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        message = consumer.poll(SECONDS)
        assert message is not None, "no answer about the topic before the deadline"
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            assert error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED, "the topic has to decide"
            raise KafkaException(error)
    finally:
        consumer.close()


def positions(admin: Any, request: Any) -> None:
    results(admin.list_consumer_group_offsets(request, request_timeout=SECONDS))


def delete_group(admin: Any, group: str) -> None:
    results(admin.delete_consumer_groups([group], request_timeout=SECONDS))


def describe_cluster(admin: Any) -> None:
    """Of the requests that need this right, librdkafka answers the others with nothing, or dies."""
    if not cluster_rights(admin):
        raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED))


def cluster_rights(admin: Any) -> set[str]:
    """What the brokers let a client do with the cluster; they tell it only to those who may describe it."""
    cluster = admin.describe_cluster(include_authorized_operations=True, request_timeout=SECONDS).result(SECONDS)
    return {operation.name for operation in cluster.authorized_operations or ()}


def begin_transaction(conf: dict[str, Any]) -> None:
    Producer(conf).init_transactions(SECONDS)


def send_once(conf: dict[str, Any]) -> None:
    """Sends a record as an idempotent producer. Only what is said of its producer id counts."""
    errors: list[KafkaError] = []
    delivered: list[bool] = []
    producer = Producer(conf | {"enable.idempotence": True, "error_cb": errors.append})
    producer.produce(TOPIC, b"x", on_delivery=lambda error, _: delivered.append(error is None))
    end = time.monotonic() + SECONDS
    while not any(delivered) and not any(error.fatal() for error in errors):
        assert time.monotonic() < end, f"no answer about the producer id: {errors}"
        producer.poll(0.1)
    producer.purge()
    if not any(delivered):
        raise KafkaException(next(error for error in errors if error.fatal()))


def commit(admin: Any, request: Any) -> None:
    (future,) = admin.alter_consumer_group_offsets(request, request_timeout=SECONDS).values()
    for part in future.result(SECONDS).topic_partitions:
        if part.error is not None:
            raise KafkaException(part.error)


def commit_to(admin: Any, request: Any) -> None:
    """Commits a position. Kafka asks for the right to the group first, so a refusal of the topic allows the group."""
    try:
        commit(admin, request)
    except KafkaException as e:
        if e.args[0].code() != KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise


def send_bytes(conf: dict[str, Any], size: int) -> float:
    """Sends ``size`` bytes in records of 100 kB; returns the longest delay that the broker asked for, in seconds."""
    delays = [0.0]
    # A fetch gets a whole batch.
    producer = Producer(
        conf | {"throttle_cb": lambda event: delays.append(event.throttle_time), "batch.num.messages": 1}
    )
    for _ in range(size // 100_000):
        producer.produce(TOPIC, b"x" * 100_000, partition=0)
    assert producer.flush(6 * SECONDS) == 0
    return max(delays)


def fetch_bytes(conf: dict[str, Any], size: int) -> float:
    """Reads ``size`` bytes in records of 100 kB, or until the broker asks for a delay; returns it, in seconds."""
    delays, total = list[float](), 0
    conf = conf | {
        "group.id": OPEN_GROUP,
        "enable.auto.commit": False,
        "throttle_cb": lambda e: delays.append(e.throttle_time),
    }
    # Of records that nobody polled, it fetches no more than two.
    consumer = Consumer(conf | {"queued.min.messages": 1, "fetch.message.max.bytes": 200_000})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        while total < size and not any(delays):
            message = consumer.poll(6 * SECONDS)
            assert message is not None, "no record before the deadline"
            total += len(message.value() or b"")
    finally:
        consumer.close()
    return max(delays, default=0.0)
