"""Creates and changes topics as their files declare them: a topic keeps every record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from core.catalog import Catalog
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra.kafka import admin_requests, kafka_admin, kafka_errors
from infra.kafka.client_config import ADMIN, as_principal
from infra.kafka.topic_config import KEEP, TopicDiff, durability, topic_configs, topic_diffs
from infra.retry import wait_until
from infra.settings import Settings

_LARGEST = "max.message.bytes"  # of a batch of records
_HEADER_BYTES = 64 * 1024
_COPY_FACTOR = 4


@dataclass(frozen=True)
class TopicChange:
    """The change of one topic: ``action`` is "created", "changed" or "unchanged", ``changes`` are lines of text."""

    topic: Name
    action: str
    changes: tuple[str, ...] = ()


def apply_topics(settings: Settings, catalog: Catalog) -> tuple[TopicChange, ...]:
    """Creates and changes the cluster's topics as the catalog declares them, and returns the change of each.

    Raises Refused, with nothing changed, when a change would lose or reorder records. Raises TryAgain when another
    process created one of the topics differently at the same time.
    """
    diffs = topic_diffs(settings, catalog)
    _refuse([line for diff in diffs for line in diff.impossible], settings, "correct its file, or use another topic")
    _create_missing(settings, [diff for diff in diffs if diff.missing])
    _add_partitions(settings, {diff.topic.name: diff.topic.partitions for diff in diffs if diff.grows})
    _alter_configs(settings, {diff.topic.name: diff.other for diff in diffs if diff.other})
    created = Catalog({Name(diff.topic.name): diff.topic for diff in diffs if diff.missing}, {})
    if other := [diff.topic.name for diff in topic_diffs(settings, created) if diff.other or diff.grows]:
        what = f"another process created topics at the same time: {', '.join(other)}"
        raise TryAgain(what, where=settings.bootstrap_servers, fix="run `lk topics apply` again")
    return tuple(_change(diff) for diff in diffs)


def create_topics(settings: Settings, catalog: Catalog) -> tuple[Name, ...]:
    """Creates the topics of the catalog that do not exist, and returns their names. Changes no existing topic.

    Raises Refused for a topic that has fewer partitions than declared, or that does not keep every record.
    """
    diffs = topic_diffs(settings, catalog)
    missing = [diff for diff in diffs if diff.missing]
    fix = "run `lk topics apply`, or correct the topic's file"
    _refuse([line for diff in diffs if not diff.missing for line in diff.unfit], settings, fix)
    if missing:
        _create_missing(settings, missing)
        created = Catalog({Name(diff.topic.name): diff.topic for diff in missing}, {})
        _refuse([line for diff in topic_diffs(settings, created) for line in diff.unfit], settings, fix)
    return tuple(Name(diff.topic.name) for diff in missing)


def ensure_copies(settings: Settings, names: Iterable[str], partitions: int, sources: Iterable[str]) -> dict[str, int]:
    """Creates those of these topics that do not exist, for copies of all records of the sources.

    Returns each topic's partition count.
    """
    counts, topics = kafka_admin.partition_counts(settings), list(names)
    missing = [topic for topic in topics if topic not in counts]
    if missing:
        replication, in_sync = durability(settings)
        config = {**KEEP, **in_sync, _LARGEST: str(_largest_copy(settings, sources))}
        _create(settings, [NewTopic(topic, partitions, replication, config=config) for topic in missing])
        counts = _wait_until_listed(settings, dict.fromkeys(missing, partitions))
    return {topic: counts[topic] for topic in topics}


def raise_largest(settings: Settings, names: Iterable[str], sources: Iterable[str]) -> None:
    """Lets those of these topics that exist take copies of all records of the sources."""
    existing = [name for name in names if name in kafka_admin.partition_counts(settings)]
    largest = _largest_copy(settings, sources)
    smaller = [name for name, config in topic_configs(settings, existing).items() if int(config[_LARGEST]) < largest]
    _alter_configs(settings, {name: {_LARGEST: str(largest)} for name in smaller})


def _largest_copy(settings: Settings, sources: Iterable[str]) -> int:
    """A copy has one header more than its record, and another compression: the limit is of compressed bytes."""
    largest = max(int(config[_LARGEST]) for config in topic_configs(settings, list(sources)).values())
    return _COPY_FACTOR * largest + _HEADER_BYTES


def delete_topics(settings: Settings, names: Iterable[str]) -> None:
    """Deletes those of these topics that exist."""
    counts = kafka_admin.partition_counts(settings)
    existing = [name for name in names if name in counts]
    if not existing:
        return
    futures = _admin(settings).delete_topics(existing, operation_timeout=admin_requests.DEADLINE)
    admin_requests.finish(settings, futures, ignore=KafkaError.UNKNOWN_TOPIC_OR_PART)


def _refuse(lines: list[str], settings: Settings, fix: str) -> None:
    if lines:
        what = "topics differ from their files:\n  " + "\n  ".join(lines)
        raise Refused(what, where=settings.bootstrap_servers, fix=fix)


def _create_missing(settings: Settings, missing: list[TopicDiff]) -> None:
    """Creates topics and waits until the brokers list them."""
    _create(
        settings, [NewTopic(d.topic.name, d.topic.partitions, d.replication, config=dict(d.config)) for d in missing]
    )
    if missing:
        _wait_until_listed(settings, {diff.topic.name: 1 for diff in missing})


def _admin(settings: Settings) -> AdminClient:
    """The client of the principal that may create, change and delete topics."""
    return admin_requests.admin_client(as_principal(settings, ADMIN))


def _create(settings: Settings, new: list[NewTopic]) -> None:
    if not new:
        return
    futures = _admin(settings).create_topics(new, operation_timeout=admin_requests.DEADLINE)
    admin_requests.finish(settings, futures, ignore=KafkaError.TOPIC_ALREADY_EXISTS)


def _add_partitions(settings: Settings, counts: Mapping[str, int]) -> None:
    if counts:
        new = [NewPartitions(name, count) for name, count in counts.items()]
        futures = _admin(settings).create_partitions(new, operation_timeout=admin_requests.DEADLINE)
        admin_requests.finish(settings, futures)
        _wait_until_listed(settings, counts)


def _alter_configs(settings: Settings, configs: Mapping[str, Mapping[str, str]]) -> None:
    if not configs:
        return
    resources = [
        ConfigResource(ResourceType.TOPIC, name, incremental_configs=[_entry(*pair) for pair in values.items()])
        for name, values in configs.items()
    ]
    futures = _admin(settings).incremental_alter_configs(resources, request_timeout=admin_requests.DEADLINE)
    admin_requests.finish(settings, futures)
    _wait_until_configured(settings, configs)


def _entry(key: str, value: str) -> ConfigEntry:
    return ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)


def _change(diff: TopicDiff) -> TopicChange:
    name = Name(diff.topic.name)
    if diff.missing:
        partitions = f"{diff.topic.partitions} partitions" + (
            f", {diff.replication} replicas" if diff.replication > 1 else ""
        )
        return TopicChange(name, "created", (partitions, *(f"{key} {value}" for key, value in diff.config.items())))
    grown = (f"partitions {diff.partitions} → {diff.topic.partitions}",) if diff.grows else ()
    changes = (*grown, *(f"{key} {diff.actual[key]} → {value}" for key, value in diff.other.items()))
    return TopicChange(name, "changed" if changes else "unchanged", changes)


def _wait_until_listed(settings: Settings, expected: Mapping[str, int]) -> dict[str, int]:
    """Waits until every broker lists these topics with at least so many partitions. Returns all partition counts."""

    def listed() -> dict[str, int]:
        brokers = kafka_admin.partition_counts_by_broker(settings)
        complete = all(counts.get(name, 0) >= count for counts in brokers for name, count in expected.items())
        return brokers[0] if brokers and complete else {}

    late = kafka_errors.unavailable(settings, f"new topics are not listed: {', '.join(expected)}")
    return wait_until(listed, admin_requests.DEADLINE, every=0.05, error=lambda: late)


def _wait_until_configured(settings: Settings, expected: Mapping[str, Mapping[str, str]]) -> None:
    """Waits until a broker shows these values: it may answer a change before it has applied it."""

    def shown() -> bool:
        actual = topic_configs(settings, list(expected))
        return all(values.items() <= actual[name].items() for name, values in expected.items())

    late = kafka_errors.unavailable(settings, f"changed configurations are not applied: {', '.join(expected)}")
    wait_until(shown, admin_requests.DEADLINE, every=0.05, error=lambda: late)
