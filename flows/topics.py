"""Compares the declared topics with those of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.catalog import Catalog
from core.errors import TryAgain
from core.identifiers import Name
from core.topic import Topic
from infra.kafka.topic_config import TopicDiff, topic_diffs
from infra.settings import Settings

_ALL = "every record"
_COMPACTED = "the last record of each key"


@dataclass(frozen=True)
class TopicSummary:
    """A topic as its file declares it and as the cluster has it; None where it is missing or unknown.

    ``state``: "differs" if `lk topics apply` would change it or refuse; "unknown" if Kafka does not answer.
    """

    topic: Name
    partitions: int
    retention: str
    state: Literal["as declared", "differs", "missing", "unknown"]
    cluster_partitions: int | None = None
    cluster_retention: str | None = None


def list_topics(settings: Settings, catalog: Catalog) -> tuple[TopicSummary, ...]:
    """Every declared topic. Changes nothing."""
    try:
        return tuple(_compared(diff) for diff in topic_diffs(settings, catalog))
    except TryAgain:
        topics = catalog.topics.values()
        return tuple(TopicSummary(Name(t.name), t.partitions, _declared(t), "unknown") for t in topics)


def _compared(diff: TopicDiff) -> TopicSummary:
    name, retention = Name(diff.topic.name), _declared(diff.topic)
    if diff.missing:
        return TopicSummary(name, diff.topic.partitions, retention, "missing")
    state: Literal["as declared", "differs"] = (
        "differs" if diff.grows or diff.other or diff.impossible else "as declared"
    )
    return TopicSummary(name, diff.topic.partitions, retention, state, diff.partitions, _configured(diff.actual))


def _declared(topic: Topic) -> str:
    return _COMPACTED if topic.compacted else _ALL


def _configured(config: Mapping[str, str]) -> str:
    """The retention in the cluster's configuration."""
    if "compact" in config["cleanup.policy"]:
        return _COMPACTED
    limits = [
        f"{config[f'retention.{unit}']} {unit}" for unit in ("ms", "bytes") if config[f"retention.{unit}"] != "-1"
    ]
    return ", ".join(limits) or _ALL
