"""What each topic file asks of the cluster, what is there, and what lies between the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

from core.catalog import Catalog
from core.topic import Topic
from infra.kafka import kafka_admin
from infra.settings import Settings

KEEP = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_CENTURY = str(100 * 365 * 86_400_000)
# A delete must outlive every replay, or its key would be there again in a build that had seen more.
_COMPACT = {"cleanup.policy": "compact", "retention.ms": "-1", "retention.bytes": "-1", "delete.retention.ms": _CENTURY}
# What another value of these did to records cannot be undone: they were compacted away, or bear other times.
_FIXED = ("cleanup.policy", "message.timestamp.type")
_HOUR = 3_600_000


@dataclass(frozen=True)
class TopicDiff:
    """One topic as it should be (``config``, ``meaning`` being what views depend on) and as it is.

    ``partitions`` is 0 and ``found`` empty for a topic that is not there; ``replicas`` are those of its partitions.
    """

    topic: Topic
    replication: int
    config: Mapping[str, str]
    meaning: Mapping[str, str]
    partitions: int = 0
    replicas: tuple[int, ...] = ()
    found: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> bool:
        """Whether it must be made."""
        return self.partitions == 0

    @property
    def grows(self) -> bool:
        """Whether it has fewer partitions than its file says."""
        return 0 < self.partitions < self.topic.partitions

    @property
    def other(self) -> dict[str, str]:
        """The configuration that must change: name → value to come."""
        return {key: value for key, value in self.config.items() if self.found and self.found[key] != value}

    @property
    def unfit(self) -> list[str]:
        """Why no job may use it as it is."""
        lines = [f"{self.topic.name} has {self.partitions} partitions, {self.topic.partitions} are declared"]
        other = {key: self.found[key] for key in self.other if key in self.meaning}
        lossy = "does not keep every record" if KEEP.keys() & other else "is set otherwise"
        values = ", ".join(f"{key}={value}" for key, value in other.items())
        return [*(lines if self.grows else []), *([f"{self.topic.name} {lossy}: {values}"] if other else [])]

    @property
    def impossible(self) -> list[str]:
        """Why it cannot be made what its file says."""
        name, has, wants = self.topic.name, self.partitions, self.topic.partitions
        lines = [f"{name} has {has} partitions, {wants} are declared: a topic does not shrink"] if has > wants else []
        if self.grows and self.topic.changelog:
            lines.append(
                f"{name} has {has} partitions, {wants} are declared: the changes of a key would lose their order"
            )
        if self.replication > 0 and any(count != self.replication for count in self.replicas):
            counts = ", ".join(map(str, sorted(set(self.replicas))))
            lines.append(f"{name} has {counts} replicas, {self.replication} are asked for")
        fixed = [f"{key} is {self.found[key]}, not {self.config[key]}" for key in self.other if key in _FIXED]
        return [*lines, *(f"{name}: {line}, which what it holds was written under" for line in fixed)]


def topic_diffs(settings: Settings, catalog: Catalog) -> tuple[TopicDiff, ...]:
    """A plan per topic of the catalog; nothing is changed."""
    wanted = [_wanted(settings, topic) for topic in catalog.topics.values()]
    there = kafka_admin.replica_counts(settings)
    configs = _configs(settings, [plan.topic.name for plan in wanted if plan.topic.name in there])
    return tuple(
        _with(plan, there[plan.topic.name], configs[plan.topic.name]) if plan.topic.name in there else plan
        for plan in wanted
    )


def durability(settings: Settings) -> tuple[int, dict[str, str]]:
    """Replicas of a topic (-1: Kafka's default), and what a write must reach of them."""
    replication = settings.kafka_replication or (len(settings.brokers) if settings.manages_kafka else -1)
    return replication, {"min.insync.replicas": str(replication - 1)} if replication > 1 else {}


def _wanted(settings: Settings, topic: Topic) -> TopicDiff:
    """Every record is kept, and says when it came."""
    meaning = _COMPACT if topic.compacted else KEEP
    meaning = {**meaning, "message.timestamp.type": "LogAppendTime" if topic.append_time else "CreateTime"}
    replication, insync = durability(settings)
    hours = settings.kafka_tiered_hours
    tiered = {"remote.storage.enable": "true", "local.retention.ms": str((hours or 0) * _HOUR)}
    more = tiered if hours and not topic.compacted else {}  # Kafka does not tier what it compacts
    return TopicDiff(topic, replication, {**meaning, **insync, **more}, meaning)


def _with(plan: TopicDiff, replicas: tuple[int, ...], found: Mapping[str, str]) -> TopicDiff:
    known = (plan.topic, plan.replication, plan.config, plan.meaning)
    return TopicDiff(*known, partitions=len(replicas), replicas=replicas, found=found)


def _configs(settings: Settings, names: list[str]) -> dict[str, dict[str, str]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    if not resources:
        return {}
    futures = kafka_admin.admin_client(settings).describe_configs(resources, request_timeout=kafka_admin.DEADLINE)
    found: dict[str, dict[str, str]] = {}
    for resource, future in futures.items():
        values: Mapping[str, Any] = kafka_admin.result_or_raise(settings, future)
        found[resource.name] = {key: str(entry.value) for key, entry in values.items()}
    return found
