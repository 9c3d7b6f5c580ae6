"""How long and how fast a run read, by the times in its manifest."""

from __future__ import annotations

from collections.abc import Sequence

from infra.control.manifest import Epoch


def backlog(epochs: Sequence[Epoch]) -> list[Epoch]:
    """The epochs that read what had piled up: of at least half the records of the largest."""
    sizes = [epoch.end.size_since(epoch.start) for epoch in epochs]
    largest = max(sizes, default=0)
    return [epoch for epoch, size in zip(epochs, sizes, strict=True) if size * 2 >= largest]


def with_records(epochs: Sequence[Epoch]) -> list[Epoch]:
    """The epochs that read records."""
    return [epoch for epoch in epochs if epoch.end != epoch.start]


def seconds(epochs: Sequence[Epoch]) -> float:
    """From the planning of the first epoch to the commit of the last."""
    return epochs[-1].committed_at.timestamp() - began(epochs)


def began(epochs: Sequence[Epoch]) -> float:
    """When the first epoch was planned, in epoch seconds."""
    return epochs[0].batch_time_ms / 1_000


def records(epochs: Sequence[Epoch]) -> int:
    """The records that consecutive epochs read."""
    return epochs[-1].end.size_since(epochs[0].start)


def rate(epochs: Sequence[Epoch]) -> float:
    """The records a second that consecutive epochs read."""
    return records(epochs) / seconds(epochs)
