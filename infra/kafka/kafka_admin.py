"""Topics, offsets and consumer groups through the admin client; every request has a deadline.

A run commits offsets to its consumer group for people and lag monitors. Nothing reads them back to decide anything.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    OffsetSpec,
)

from core.cut import Cut
from core.errors import LkError, Refused, TryAgain
from core.identifiers import Name
from infra.kafka import kafka_errors
from infra.kafka.client_config import ADMIN, as_principal, asks_for_password, librdkafka
from infra.retry import retry_on
from infra.settings import Settings

DEADLINE = 10.0
_LOGIN_CHECKS = 20  # before the deadline
T = TypeVar("T")
_clients: dict[tuple[tuple[str, Any], ...], AdminClient] = {}
_LOGIN_ERRORS = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED)
_lock = threading.Lock()


def admin_client(settings: Settings) -> AdminClient:
    """The admin client of this process for these brokers. It reconnects by itself.

    Raises TryAgain at once when every broker refuses the first connection; librdkafka would wait for its deadline.
    """
    conf = librdkafka(settings)
    key = tuple(sorted(conf.items()))
    with _lock:
        if key not in _clients:
            if all(_refuses_connections(address) for address in settings.bootstrap_servers.split(",")):
                raise kafka_errors.unavailable(settings, "connection refused")
            _clients[key] = _client(settings, conf)
        return _clients[key]


def close_client(settings: Settings) -> None:
    """Closes the admin client of this process for these brokers; the next ``admin_client`` opens another.

    A client keeps reconnecting while its brokers stop one after another. librdkafka has aborted a process then, and
    when a late answer came to a request that had failed before (confluentinc/librdkafka#4605). It is closed at both.
    """
    with _lock:
        _clients.pop(tuple(sorted(librdkafka(settings).items())), None)


def _client(settings: Settings, conf: dict[str, Any]) -> AdminClient:
    """Raises Refused when the brokers reject the credentials, or their certificate is not trusted."""
    errors: deque[KafkaError] = deque(maxlen=20)
    # Callers get errors as exceptions; without log_level 0, librdkafka prints them on stderr too.
    conf = conf | {"socket.timeout.ms": 5000, "client.id": "lk", "log_level": 0, "error_cb": errors.append}
    admin_client = AdminClient(conf)
    for _ in range(_LOGIN_CHECKS if asks_for_password(settings) else 0):
        with suppress(KafkaException):
            admin_client.list_topics(timeout=DEADLINE / _LOGIN_CHECKS)
            break
        admin_client.poll(0)  # delivers errors to error_cb
        _require_login(settings, errors)
    return admin_client


def _require_login(settings: Settings, errors: Iterable[KafkaError]) -> None:
    for error in errors:
        if error.code() in _LOGIN_ERRORS:
            raise Refused(
                f"Kafka rejected the credentials or the certificate of user {settings.kafka_user}: {error.str()}",
                where=settings.bootstrap_servers,
                fix="correct kafka_user, kafka_password_file (or LK_KAFKA_PASSWORD) or kafka_ca",
            )


def partition_counts(settings: Settings) -> dict[str, int]:
    """Existing topics → number of partitions, without Kafka's internal topics."""
    return {name: len(counts) for name, counts in replica_counts(settings).items()}


def partition_counts_by_broker(settings: Settings) -> list[dict[str, int]]:
    """The same from the metadata of each broker that answers; a new topic reaches some brokers later."""
    brokers = _result(settings, lambda: admin_client(settings).list_topics(timeout=DEADLINE)).brokers.values()
    if len(brokers) == 1:
        return [partition_counts(settings)]
    counts = []
    for address in (f"{broker.host}:{broker.port}" for broker in brokers):
        # A new client with one bootstrap address requests its metadata there.
        if not _refuses_connections(address):
            with suppress(KafkaException):
                client = _client(settings, librdkafka(settings) | {"bootstrap.servers": address})
                metadata = client.list_topics(timeout=DEADLINE)
                counts.append({name: len(topic.partitions) for name, topic in metadata.topics.items()})
    return counts


def replica_counts(settings: Settings) -> dict[str, tuple[int, ...]]:
    """Existing topics → number of replicas of each partition."""
    metadata = _result(settings, lambda: admin_client(settings).list_topics(timeout=DEADLINE)).topics
    names = sorted(name for name in metadata if not name.startswith("__"))
    return {name: tuple(len(p.replicas) for p in metadata[name].partitions.values()) for name in names}


def partitions(settings: Settings, names: Iterable[str]) -> dict[Name, int]:
    """Number of partitions of each of these topics. Raises Refused for a topic that does not exist."""
    counts = partition_counts(settings)
    topics = [Name(name) for name in names]
    for topic in topics:
        if topic not in counts:
            raise _no_topic(settings, topic)
    return {topic: counts[topic] for topic in topics}


def end_offsets(settings: Settings, names: Iterable[str]) -> Cut:
    """The log end offset of every partition: the offset of the next record."""
    return Cut.of(_offsets(settings, names, OffsetSpec.latest()))  # type: ignore[no-untyped-call]


def start_offsets(settings: Settings, names: Iterable[str]) -> Cut:
    """The log start offset of every partition: 0 until Kafka removes records."""
    return Cut.of(_offsets(settings, names, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]


def offset_at(settings: Settings, topic: str, partition: int, timestamp: int) -> int | None:
    """The offset of the first record with this timestamp or a later one, epoch milliseconds; None without any."""
    part, spec = TopicPartition(topic, partition), OffsetSpec.for_timestamp(timestamp)
    (future,) = admin_client(settings).list_offsets({part: spec}, request_timeout=DEADLINE).values()
    offset = int(result_or_raise(settings, future, topic=topic).offset)
    return offset if offset >= 0 else None


def topic_ids(settings: Settings, names: Iterable[str]) -> dict[Name, str]:
    """Kafka's id of each topic. A topic that was deleted and created again has a new one."""
    topics = [str(name) for name in names]
    if not topics:
        return {}
    admin = admin_client(settings)
    futures = admin.describe_topics(TopicCollection(topics), request_timeout=DEADLINE)
    try:
        return {
            Name(name): str(result_or_raise(settings, future, topic=name).topic_id) for name, future in futures.items()
        }
    except TryAgain:
        # Refreshes the metadata, and with it the controller; librdkafka would wait for one that died.
        _result(settings, lambda: admin.list_topics(timeout=DEADLINE))
        raise


def commit_offsets(settings: Settings, group: str, cut: Cut) -> None:
    """Commits a cut as the offsets of a consumer group without members."""
    if not cut.ends:
        return
    parts = [TopicPartition(str(topic), partition, end) for topic, partition, end in cut.ends]
    request = [ConsumerGroupTopicPartitions(str(group), parts)]
    for future in admin_client(settings).alter_consumer_group_offsets(request, request_timeout=DEADLINE).values():
        result_or_raise(settings, future)


def committed_offsets(settings: Settings, group: str, names: Iterable[str]) -> Cut:
    """The committed offsets of a consumer group in these topics."""
    offsets: dict[str, dict[int, int]] = {}
    for part in committed_partitions(settings, group, names):
        offsets.setdefault(part.topic, {})[part.partition] = max(part.offset, 0)
    return Cut.of(offsets)


def committed_partitions(settings: Settings, group: str, names: Iterable[str]) -> list[TopicPartition]:
    """Every partition of these topics with the group's committed offset (negative: none) and its metadata."""
    parts = [TopicPartition(str(t), p) for t, count in partitions(settings, names).items() for p in range(count)]
    request = [ConsumerGroupTopicPartitions(str(group), parts)]
    (future,) = admin_client(settings).list_consumer_group_offsets(request, request_timeout=DEADLINE).values()
    return list(result_or_raise(settings, future).topic_partitions)


def consumer_groups(settings: Settings) -> tuple[str, ...]:
    """All consumer groups of the cluster."""
    listed = result_or_raise(settings, admin_client(settings).list_consumer_groups(request_timeout=DEADLINE))
    return tuple(sorted(group.group_id for group in listed.valid))


def group_exists(settings: Settings, group: str) -> bool:
    """Whether this consumer group exists."""
    return group in consumer_groups(settings)


def delete_group(settings: Settings, group: str) -> None:
    """Deletes a consumer group, if it exists."""
    settings = as_principal(settings, ADMIN)
    if group_exists(settings, group):
        for future in admin_client(settings).delete_consumer_groups([group], request_timeout=DEADLINE).values():
            result_or_raise(settings, future)


def _offsets(settings: Settings, names: Iterable[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
    # Not every broker knows a newly elected leader at once.
    topics = tuple(names)
    return retry_on(TryAgain, lambda: _list_offsets(settings, topics, spec), DEADLINE, every=0.1)


def _list_offsets(settings: Settings, names: Iterable[str], spec: OffsetSpec) -> dict[str, dict[int, int]]:
    parts = [TopicPartition(str(t), p) for t, count in partitions(settings, names).items() for p in range(count)]
    if not parts:
        return {}
    futures = admin_client(settings).list_offsets(dict.fromkeys(parts, spec), request_timeout=DEADLINE)
    offsets: dict[str, dict[int, int]] = {}
    for part, future in futures.items():
        result = result_or_raise(settings, future, topic=part.topic)
        offsets.setdefault(part.topic, {})[part.partition] = int(result.offset)
    return offsets


def _refuses_connections(address: str) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=DEADLINE).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def _result(settings: Settings, call: Any) -> Any:
    try:
        return call()
    except KafkaException as e:
        raise _failed(settings, e.args[0]) from None


def result_or_raise(settings: Settings, future: Future[T], *, ignore: int | None = None, topic: str = "") -> Any:
    """The result of a request; None for the error code ``ignore``. Raises any other error as Refused or TryAgain."""
    try:
        return future.result(timeout=DEADLINE + 5)
    except KafkaException as e:
        error = e.args[0]
        if ignore is not None and error.code() == ignore:
            return None
        if topic and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise _no_topic(settings, Name(topic)) from None
        raise _failed(settings, error) from None
    except TimeoutError:
        close_client(settings)
        raise kafka_errors.unavailable(settings, "the request timed out") from None


def _failed(settings: Settings, error: KafkaError) -> LkError:
    if kafka_errors.is_lost(error):
        close_client(settings)
    return kafka_errors.request_failed(settings, error)


def _no_topic(settings: Settings, name: Name) -> Refused:
    return Refused(
        f"topic {name} does not exist", where=settings.bootstrap_servers, fix=f"send records to it: `lk produce {name}`"
    )
