"""Topics are made and kept as their files say: they keep every record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError
from confluent_kafka.admin import (  # type: ignore[attr-defined]
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
from infra.kafka import kafka_admin
from infra.kafka.topic_config import KEEP, TopicDiff, durability, topic_diffs
from infra.retry import wait_until
from infra.settings import Settings


@dataclass(frozen=True)
class TopicChange:
    """What was done to one topic: "made", "changed" or "unchanged", and the changes in words."""

    topic: Name
    done: str
    changes: tuple[str, ...] = ()


def apply_topics(settings: Settings, catalog: Catalog) -> tuple[TopicChange, ...]:
    """Makes the cluster's topics what the catalog's files say, and tells what was done to each.

    Raises Refused, with nothing changed, when a topic cannot be made so without losing or reordering records, TryAgain
    when another process made one of them meanwhile, otherwise.
    """
    found = topic_diffs(settings, catalog)
    _refuse([line for plan in found for line in plan.impossible], settings, "correct its file, or use another topic")
    _make(settings, [plan for plan in found if plan.missing])
    _grow(settings, {plan.topic.name: plan.topic.partitions for plan in found if plan.grows})
    _alter(settings, {plan.topic.name: plan.other for plan in found if plan.other})
    made = Catalog({Name(plan.topic.name): plan.topic for plan in found if plan.missing}, {})
    if other := [plan.topic.name for plan in topic_diffs(settings, made) if plan.other or plan.grows]:
        what = f"another process made topics at the same time: {', '.join(other)}"
        raise TryAgain(what, where=settings.bootstrap_servers, fix="run `lk topics apply` again")
    return tuple(_applied(plan) for plan in found)


def create_topics(settings: Settings, catalog: Catalog) -> tuple[Name, ...]:
    """Makes the topics of the catalog that are missing, and returns their names; changes none that is there.

    Raises Refused for one that is there with fewer partitions than declared, or that does not keep every record.
    """
    found = topic_diffs(settings, catalog)
    missing = [plan for plan in found if plan.missing]
    fix = "run `lk topics apply`, or correct the topic's file"
    _refuse([line for plan in found if not plan.missing for line in plan.unfit], settings, fix)
    if missing:
        _make(settings, missing)
        made = Catalog({Name(plan.topic.name): plan.topic for plan in missing}, {})
        _refuse([line for plan in topic_diffs(settings, made) for line in plan.unfit], settings, fix)
    return tuple(Name(plan.topic.name) for plan in missing)


def ensure_topics(settings: Settings, names: Iterable[str], partitions: int) -> dict[str, int]:
    """Makes those of these topics that are missing, to keep every record; the number of partitions of each."""
    there, wanted = kafka_admin.partition_counts(settings), list(names)
    replication, insync = durability(settings)
    missing = [name for name in wanted if name not in there]
    _create(settings, [NewTopic(name, partitions, replication, config=KEEP | insync) for name in missing])
    known = _known(settings, dict.fromkeys(missing, partitions)) if missing else there
    return {name: known[name] for name in wanted}


def delete_topics(settings: Settings, names: Iterable[str]) -> None:
    """Deletes topics, as far as they are there."""
    there = kafka_admin.partition_counts(settings)
    known = [name for name in names if name in there]
    for future in (
        kafka_admin.admin_client(settings).delete_topics(known, operation_timeout=kafka_admin.DEADLINE) if known else {}
    ).values():
        kafka_admin.result_or_raise(settings, future, ignore=KafkaError.UNKNOWN_TOPIC_OR_PART)


def _refuse(lines: list[str], settings: Settings, fix: str) -> None:
    if lines:
        what = "topics are not as their files declare them:\n  " + "\n  ".join(lines)
        raise Refused(what, where=settings.bootstrap_servers, fix=fix)


def _make(settings: Settings, missing: list[TopicDiff]) -> None:
    """Makes topics and waits until the brokers list them."""
    _create(
        settings, [NewTopic(p.topic.name, p.topic.partitions, p.replication, config=dict(p.config)) for p in missing]
    )
    if missing:
        _known(settings, {plan.topic.name: 1 for plan in missing})


def _create(settings: Settings, new: list[NewTopic]) -> None:
    futures = (
        kafka_admin.admin_client(settings).create_topics(new, operation_timeout=kafka_admin.DEADLINE) if new else {}
    )
    for future in futures.values():
        kafka_admin.result_or_raise(settings, future, ignore=KafkaError.TOPIC_ALREADY_EXISTS)


def _grow(settings: Settings, wanted: Mapping[str, int]) -> None:
    if wanted:
        new = [NewPartitions(name, count) for name, count in wanted.items()]
        for future in (
            kafka_admin.admin_client(settings).create_partitions(new, operation_timeout=kafka_admin.DEADLINE).values()
        ):
            kafka_admin.result_or_raise(settings, future)
        _known(settings, wanted)


def _alter(settings: Settings, wanted: Mapping[str, Mapping[str, str]]) -> None:
    if not wanted:
        return
    resources = [
        ConfigResource(ResourceType.TOPIC, name, incremental_configs=[_entry(*pair) for pair in values.items()])
        for name, values in wanted.items()
    ]
    futures = kafka_admin.admin_client(settings).incremental_alter_configs(
        resources, request_timeout=kafka_admin.DEADLINE
    )
    for future in futures.values():
        kafka_admin.result_or_raise(settings, future)


def _entry(key: str, value: str) -> ConfigEntry:
    return ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)


def _applied(plan: TopicDiff) -> TopicChange:
    name = Name(plan.topic.name)
    if plan.missing:
        asked = f"{plan.topic.partitions} partitions" + (
            f", {plan.replication} replicas" if plan.replication > 1 else ""
        )
        return TopicChange(name, "made", (asked, *(f"{key} {value}" for key, value in plan.config.items())))
    grown = (f"partitions {plan.partitions} → {plan.topic.partitions}",) if plan.grows else ()
    changes = (*grown, *(f"{key} {plan.found[key]} → {value}" for key, value in plan.other.items()))
    return TopicChange(name, "changed" if changes else "unchanged", changes)


def _known(settings: Settings, expected: Mapping[str, int]) -> dict[str, int]:
    """All topics, once every broker lists these with so many partitions, which takes a moment."""

    def listed() -> dict[str, int]:
        brokers = kafka_admin.partition_counts_by_broker(settings)
        everywhere = all(topics.get(name, 0) >= count for topics in brokers for name, count in expected.items())
        return brokers[0] if brokers and everywhere else {}

    late = kafka_admin.unavailable(settings, f"new topics are not listed: {', '.join(expected)}")
    return wait_until(listed, kafka_admin.DEADLINE, every=0.05, error=lambda: late)
