"""Differences between the topics as their files declare them and the topics of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

from core.catalog import Catalog
from core.topic import Topic
from infra.kafka import admin_requests, kafka_admin
from infra.settings import Settings

KEEP = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_CENTURY = str(100 * 365 * 86_400_000)
# A tombstone must outlive every replay: without it, a replay would bring the key back.
_COMPACT = {"cleanup.policy": "compact", "retention.ms": "-1", "retention.bytes": "-1", "delete.retention.ms": _CENTURY}
# Records were already compacted or stamped under the old value, so these cannot be changed.
_FIXED = ("cleanup.policy", "message.timestamp.type")
_HOUR = 3_600_000


@dataclass(frozen=True)
class TopicDiff:
    """One topic as declared (``config``; ``meaning`` is the part that views depend on) and as the cluster has it.

    For a topic that does not exist ``partitions`` is 0 and ``actual`` is empty. ``replicas`` has one count for each
    partition.
    """

    topic: Topic
    replication: int
    config: Mapping[str, str]
    meaning: Mapping[str, str]
    partitions: int = 0
    replicas: tuple[int, ...] = ()
    actual: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        """Whether it does not exist."""
        return self.partitions == 0

    @property
    def grows(self) -> bool:
        """Whether it has fewer partitions than declared."""
        return 0 < self.partitions < self.topic.partitions

    @property
    def other(self) -> dict[str, str]:
        """The configuration entries that must change: name → declared value."""
        return {key: value for key, value in self.config.items() if self.actual and self.actual[key] != value}

    @property
    def unfit(self) -> list[str]:
        """Reasons why no job may use it as it is."""
        lines = [f"{self.topic.name} has {self.partitions} partitions, {self.topic.partitions} are declared"]
        other = {key: self.actual[key] for key in self.other if key in self.meaning}
        lossy = "does not keep every record" if KEEP.keys() & other else "has another configuration"
        values = ", ".join(f"{key}={value}" for key, value in other.items())
        return [*(lines if self.grows else []), *([f"{self.topic.name} {lossy}: {values}"] if other else [])]

    @property
    def impossible(self) -> list[str]:
        """Reasons why it cannot be changed to what its file declares."""
        name, actual, declared = self.topic.name, self.partitions, self.topic.partitions
        lines = (
            [f"{name} has {actual} partitions, {declared} are declared: Kafka cannot remove partitions"]
            if actual > declared
            else []
        )
        if self.grows and self.topic.changelog:
            lines.append(
                f"{name} has {actual} partitions, {declared} are declared: the changes of a key would lose their order"
            )
        if self.replication > 0 and any(count != self.replication for count in self.replicas):
            counts = ", ".join(map(str, sorted(set(self.replicas))))
            lines.append(f"{name} has {counts} replicas, {self.replication} are declared")
        fixed = [f"{key} is {self.actual[key]}, not {self.config[key]}" for key in self.other if key in _FIXED]
        return [*lines, *(f"{name}: {line}, and its records were written under the old value" for line in fixed)]


def topic_diffs(settings: Settings, catalog: Catalog) -> tuple[TopicDiff, ...]:
    """The difference for each topic of the catalog. Changes nothing."""
    diffs = [_declared(settings, topic) for topic in catalog.topics.values()]
    replicas = kafka_admin.replica_counts(settings)
    configs = topic_configs(settings, [diff.topic.name for diff in diffs if diff.topic.name in replicas])
    return tuple(
        _with_actual(diff, replicas[diff.topic.name], configs[diff.topic.name]) if diff.topic.name in replicas else diff
        for diff in diffs
    )


def durability(settings: Settings) -> tuple[int, dict[str, str]]:
    """Replicas of a topic (-1: Kafka's default), and the configuration of its in-sync replicas."""
    replication = settings.kafka_replication or (len(settings.brokers) if settings.manages_kafka else -1)
    return replication, {"min.insync.replicas": str(replication - 1)} if replication > 1 else {}


def _declared(settings: Settings, topic: Topic) -> TopicDiff:
    meaning = _COMPACT if topic.compacted else KEEP
    meaning = {**meaning, "message.timestamp.type": "LogAppendTime" if topic.append_time else "CreateTime"}
    replication, in_sync = durability(settings)
    hours = settings.kafka_tiered_hours
    tiered = {"remote.storage.enable": "true", "local.retention.ms": str((hours or 0) * _HOUR)}
    tiering = tiered if hours and not topic.compacted else {}  # Kafka does not tier compacted topics
    return TopicDiff(topic, replication, {**meaning, **in_sync, **tiering}, meaning)


def _with_actual(declared: TopicDiff, replicas: tuple[int, ...], config: Mapping[str, str]) -> TopicDiff:
    return replace(declared, partitions=len(replicas), replicas=replicas, actual=config)


def topic_configs(settings: Settings, names: list[str]) -> dict[str, dict[str, str]]:
    """The whole configuration of each of these topics."""
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    if not resources:
        return {}
    futures = admin_requests.admin_client(settings).describe_configs(resources, request_timeout=admin_requests.DEADLINE)
    configs: dict[str, dict[str, str]] = {}
    for resource, future in futures.items():
        entries: Mapping[str, Any] = admin_requests.result_or_raise(settings, future)
        configs[resource.name] = {key: str(entry.value) for key, entry in entries.items()}
    return configs
