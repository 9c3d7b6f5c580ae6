"""Topics, offsets and consumer groups, through the admin client.

A run commits offsets to its consumer group for people and lag monitors. Nothing reads them back to decide anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from core.cut import Cut
from core.errors import TryAgain
from core.identifiers import Name
from infra.kafka import admin_requests, kafka_errors
from infra.kafka.admin_requests import (
    admin_client,
    call_or_raise,
    finish,
    new_client,
    no_topic,
    refuses_connections,
    result_or_raise,
)
from infra.kafka.client_config import ADMIN, as_principal, librdkafka
from infra.retry import retry_on
from infra.settings import Settings


def partition_counts(settings: Settings) -> dict[str, int]:
    """Existing topics → number of partitions, without Kafka's internal topics."""
    return {name: len(counts) for name, counts in replica_counts(settings).items()}


def partition_counts_by_broker(settings: Settings) -> list[dict[str, int]]:
    """Topics → partitions, as each broker that answers reports it; a new topic reaches some brokers later."""
    brokers = call_or_raise(
        settings, lambda: admin_client(settings).list_topics(timeout=admin_requests.DEADLINE)
    ).brokers.values()
    if len(brokers) == 1:
        return [partition_counts(settings)]
    counts = []
    for address in (f"{broker.host}:{broker.port}" for broker in brokers):
        # A new client with one bootstrap address requests its metadata there.
        if not refuses_connections(address):
            with suppress(KafkaException):
                client = new_client(settings, librdkafka(settings) | {"bootstrap.servers": address})
                metadata = client.list_topics(timeout=admin_requests.DEADLINE)
                counts.append({name: len(topic.partitions) for name, topic in metadata.topics.items()})
    return counts


def replica_counts(settings: Settings) -> dict[str, tuple[int, ...]]:
    """Existing topics → number of replicas of each partition."""
    metadata = call_or_raise(
        settings, lambda: admin_client(settings).list_topics(timeout=admin_requests.DEADLINE)
    ).topics
    names = sorted(name for name in metadata if not name.startswith("__"))
    return {name: tuple(len(p.replicas) for p in metadata[name].partitions.values()) for name in names}


def partitions(settings: Settings, names: Iterable[str]) -> dict[Name, int]:
    """Number of partitions of each of these topics. Raises Refused for a topic that does not exist."""
    counts = partition_counts(settings)
    topics = [Name(name) for name in names]
    for topic in topics:
        if topic not in counts:
            raise no_topic(settings, topic)
    return {topic: counts[topic] for topic in topics}


def end_offsets(settings: Settings, names: Iterable[str]) -> Cut:
    """The log end offset of every partition: the offset of the next record."""
    return Cut.of(_offsets(settings, names, OffsetSpec.latest()))  # type: ignore[no-untyped-call]


def stable_ends(settings: Settings, names: Iterable[str]) -> Cut:
    """The last stable offset of every partition: no transaction is open below it."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    return Cut.of(_offsets(settings, names, latest, IsolationLevel.READ_COMMITTED))


def start_offsets(settings: Settings, names: Iterable[str]) -> Cut:
    """The log start offset of every partition: 0 until Kafka removes records."""
    return Cut.of(_offsets(settings, names, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]


def offset_at(settings: Settings, topic: str, partition: int, timestamp: int) -> int | None:
    """The offset of the first record with this timestamp or a later one, epoch milliseconds; None without any."""
    part, spec = TopicPartition(topic, partition), OffsetSpec.for_timestamp(timestamp)
    (future,) = admin_client(settings).list_offsets({part: spec}, request_timeout=admin_requests.DEADLINE).values()
    offset = int(result_or_raise(settings, future, topic=topic).offset)
    return offset if offset >= 0 else None


def topic_ids(settings: Settings, names: Iterable[str]) -> dict[Name, str]:
    """Kafka's id of each topic. A topic that was deleted and created again has a new one."""
    topics = [str(name) for name in names]
    if not topics:
        return {}
    admin = admin_client(settings)
    futures = admin.describe_topics(TopicCollection(topics), request_timeout=admin_requests.DEADLINE)
    try:
        return {
            Name(name): str(result_or_raise(settings, future, topic=name).topic_id) for name, future in futures.items()
        }
    except TryAgain:
        # Refreshes the metadata, and with it the controller; librdkafka would wait for one that died.
        call_or_raise(settings, lambda: admin.list_topics(timeout=admin_requests.DEADLINE))
        raise


def commit_offsets(settings: Settings, group: str, cut: Cut) -> None:
    """Commits a cut as the offsets of a consumer group without members."""
    if not cut.ends:
        return
    topic_partitions = [TopicPartition(str(topic), partition, end) for topic, partition, end in cut.ends]
    request = [ConsumerGroupTopicPartitions(str(group), topic_partitions)]
    admin = admin_client(settings)
    finish(settings, admin.alter_consumer_group_offsets(request, request_timeout=admin_requests.DEADLINE))


def committed_offsets(settings: Settings, group: str, names: Iterable[str]) -> Cut:
    """The committed offsets of a consumer group in these topics."""
    offsets: dict[str, dict[int, int]] = {}
    for part in committed_partitions(settings, group, names):
        offsets.setdefault(part.topic, {})[part.partition] = max(part.offset, 0)
    return Cut.of(offsets)


def committed_partitions(settings: Settings, group: str, names: Iterable[str]) -> list[TopicPartition]:
    """Every partition of these topics with the group's committed offset (negative: none) and its metadata."""
    topic_partitions = _all_partitions(settings, names)
    reader = _group_reader(tuple(sorted(librdkafka(settings).items())), str(group))
    committed = call_or_raise(settings, lambda: reader.committed(topic_partitions, timeout=admin_requests.DEADLINE))
    for part in committed:
        if part.error is not None:
            raise kafka_errors.read_failed(settings, part.error)
    return list(committed)


@lru_cache(maxsize=8)
def _group_reader(conf: tuple[tuple[str, Any], ...], group: str) -> Consumer:
    """A consumer that never joins its group.

    The admin client's request for a group's offsets ends the process with SIGSEGV when the coordinator moves, or is not
    elected yet (confluentinc/librdkafka#5040).
    """
    options = {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_uncommitted", "log_level": 0}
    return Consumer(dict(conf) | options | {"error_cb": lambda _: None})


def consumer_groups(settings: Settings) -> tuple[str, ...]:
    """All consumer groups of the cluster."""
    listed = result_or_raise(
        settings, admin_client(settings).list_consumer_groups(request_timeout=admin_requests.DEADLINE)
    )
    return tuple(sorted(group.group_id for group in listed.valid))


def group_exists(settings: Settings, group: str) -> bool:
    """Whether this consumer group exists."""
    return group in consumer_groups(settings)


def delete_group(settings: Settings, group: str) -> None:
    """Deletes a consumer group, if it exists."""
    settings = as_principal(settings, ADMIN)
    if group_exists(settings, group):
        admin = admin_client(settings)
        finish(settings, admin.delete_consumer_groups([group], request_timeout=admin_requests.DEADLINE))


def _all_partitions(settings: Settings, names: Iterable[str]) -> list[TopicPartition]:
    counts = partitions(settings, names)
    return [TopicPartition(str(topic), partition) for topic, count in counts.items() for partition in range(count)]


def _offsets(
    settings: Settings,
    names: Iterable[str],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[str, dict[int, int]]:
    # Not every broker knows a newly elected leader at once.
    topics = tuple(names)
    read = partial(_list_offsets, settings, topics, spec, isolation)
    return retry_on(TryAgain, read, admin_requests.DEADLINE, every=0.1)


def _list_offsets(
    settings: Settings, names: Iterable[str], spec: OffsetSpec, isolation: IsolationLevel
) -> dict[str, dict[int, int]]:
    topic_partitions = _all_partitions(settings, names)
    if not topic_partitions:
        return {}
    futures = admin_client(settings).list_offsets(
        dict.fromkeys(topic_partitions, spec), isolation_level=isolation, request_timeout=admin_requests.DEADLINE
    )
    offsets: dict[str, dict[int, int]] = {}
    for part, future in futures.items():
        result = result_or_raise(settings, future, topic=part.topic)
        offsets.setdefault(part.topic, {})[part.partition] = int(result.offset)
    return offsets
