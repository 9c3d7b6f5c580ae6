"""How far a route's run has copied, from the committed offsets of its consumer group.

The metadata of a committed offset holds how many records were copied up to it, and the number of the ownership.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message, TopicPartition

from core.log_mark import LogMark
from core.position_metadata import position_metadata
from core.positions import LogPartition
from infra.kafka import kafka_admin
from infra.kafka.log_reader import committed_records
from infra.kafka.message_content import headers_of
from infra.settings import Settings

ORIGIN = "route_origin"  # header of a copy: topic/partition/offset of its record
_OFFSET = re.compile(rb"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Position:
    """Copied up to ``offset``: records per output ("" for none) since the run began, and the ownership number.

    ``gaps`` counts the offsets without a committed record since then: aborted records, and marks of transactions.
    ``mark`` is of the last record that was copied, or that no output takes; None before the first one.
    ``committed`` is False for the start of a run whose group has no offset: it never had one, or it expired.
    """

    offset: int
    counts: Mapping[str, int] = field(default_factory=dict)
    ownership: int = 0
    committed: bool = True
    mark: LogMark | None = None
    gaps: int = 0

    @property
    def metadata(self) -> str:
        """The metadata to commit with the offset."""
        return position_metadata(self.counts, self.gaps, self.ownership, self.mark)


def position(part: TopicPartition, start: int) -> Position:
    """The position of a committed offset; ``start`` if the group has committed none."""
    if part.offset < 0:
        return Position(start, committed=False)
    metadata = json.loads(part.metadata or "{}")
    mark = LogMark(*metadata["mark"]) if metadata.get("mark") else None  # an older program stored none
    counts, ownership, gaps = metadata.get("counts", {}), metadata.get("tenure", 0), metadata.get("gaps", 0)
    return Position(part.offset, counts, ownership, mark=mark, gaps=gaps)


def copies(
    settings: Settings, topic: str, partitions: Iterable[int], source: str, partition: int
) -> Iterator[tuple[int, int, Message]]:
    """Every copy of a source partition's records in a topic: its partition, the offset of the record, and the copy.

    These ``partitions`` of the topic are read whole. Raises TryAgain when Kafka does not answer.
    """
    origin = f"{source}/{partition}/".encode()
    for to in partitions:
        for message in committed_records(settings, topic, to):
            offset = copied_offset(headers_of(message), origin)
            if offset is not None:
                yield to, offset, message


def copied_to(partition: int, count: int) -> tuple[int, ...]:
    """The partitions of a topic that may hold copies of a source partition, today's first; ``count`` only grew."""
    return tuple(dict.fromkeys(partition % earlier for earlier in range(count, 0, -1)))


def copied_offset(headers: Iterable[Any], origin: bytes) -> int | None:
    """The offset in a copy's own header, which is its last one; None unless that names a record of ``origin``.

    The headers before it came with the record: their text is its producer's.
    """
    values = [value for name, value in headers if name == ORIGIN]
    own = values[-1] if values and isinstance(values[-1], bytes) else b""
    offset = _OFFSET.fullmatch(own, len(origin)) if own.startswith(origin) else None
    return int(offset[0]) if offset else None


def positions(
    settings: Settings, group: str, topics: Iterable[str], start: Mapping[LogPartition, int]
) -> dict[LogPartition, Position]:
    """The group's position in every partition of these topics; without a committed offset ``start``, else 0."""
    committed = kafka_admin.committed_partitions(settings, group, topics)
    by_partition = {LogPartition(part.topic, part.partition): part for part in committed}
    return {partition: position(part, start.get(partition, 0)) for partition, part in by_partition.items()}
