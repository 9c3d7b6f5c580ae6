"""Timestamps of the last records before given offsets."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from core.identifiers import Name
from core.positions import LogPartition
from infra.kafka.log_marks import RecordReader


def last_timestamps(
    reader: RecordReader, ends: Iterable[tuple[Name, int, int]]
) -> dict[tuple[Name, int, int], datetime]:
    """(topic, partition, end) → timestamp of the record at ``end - 1``, UTC. Removed records are left out."""
    keys = {LogPartition(topic, partition): (topic, partition, end) for topic, partition, end in ends if end > 0}
    last = reader.records({log_partition: end - 1 for log_partition, (_, _, end) in keys.items()})
    return {keys[at]: datetime.fromtimestamp(record.timestamp()[1] / 1000, UTC) for at, record in last.items()}
