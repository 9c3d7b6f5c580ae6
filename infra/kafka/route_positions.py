"""How far a route's run has copied, as its consumer group says: offsets and counts of one transaction.

An offset's metadata, which brokers keep with it, holds what was copied up to it and the tenure that it was copied in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import TopicPartition

from infra.kafka import kafka_admin
from infra.settings import Settings


@dataclass(frozen=True)
class Position:
    """Copied up to ``offset``: records per output ("" for none) since the run began, and the number of the tenure."""

    offset: int
    counts: Mapping[str, int] = field(default_factory=dict)
    tenure: int = 0

    @property
    def metadata(self) -> str:
        """What is committed with the offset."""
        return json.dumps({"tenure": self.tenure, "counts": dict(self.counts)}, sort_keys=True)


def position(part: TopicPartition, start: int) -> Position:
    """A committed offset as Kafka gives it; ``start`` where nothing was committed yet."""
    if part.offset < 0:
        return Position(start)
    told = json.loads(part.metadata or "{}")
    return Position(part.offset, told.get("counts", {}), told.get("tenure", 0))


def positions(
    settings: Settings, group: str, topics: Iterable[str], start: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], Position]:
    """Every partition of these topics: what the group has committed, else ``start`` (0 where that has none)."""
    found = kafka_admin.committed_partitions(settings, group, topics)
    return {(p.topic, p.partition): position(p, start.get((p.topic, p.partition), 0)) for p in found}
