"""How far a route's run has copied, from the committed offsets of its consumer group.

The metadata of a committed offset holds how many records were copied up to it, and the number of the ownership.
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
    """Copied up to ``offset``: records per output ("" for none) since the run began, and the ownership number."""

    offset: int
    counts: Mapping[str, int] = field(default_factory=dict)
    ownership: int = 0

    @property
    def metadata(self) -> str:
        """The metadata to commit with the offset."""
        return json.dumps({"tenure": self.ownership, "counts": dict(self.counts)}, sort_keys=True)


def position(part: TopicPartition, start: int) -> Position:
    """The position of a committed offset; ``start`` if the group has committed none."""
    if part.offset < 0:
        return Position(start)
    metadata = json.loads(part.metadata or "{}")
    return Position(part.offset, metadata.get("counts", {}), metadata.get("tenure", 0))


def positions(
    settings: Settings, group: str, topics: Iterable[str], start: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], Position]:
    """The group's position in every partition of these topics; without a committed offset ``start``, else 0."""
    committed = kafka_admin.committed_partitions(settings, group, topics)
    return {(p.topic, p.partition): position(p, start.get((p.topic, p.partition), 0)) for p in committed}
