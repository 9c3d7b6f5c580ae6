"""A full computation from the log by a process that starts for it: start-up told apart from the rate after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from infra.control.claims import Claim
from infra.control.manifest import Epoch
from infra.lake import delta, table_paths
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings


@dataclass(frozen=True)
class RebuildTimes:
    """Seconds of the whole command, and of its start-up, in which it reads no record yet.

    ``rate`` is the records per second that it read and computed after that. ``usage`` is what its processes used for
    ``records`` records, start-up included.
    """

    seconds: float
    start_up: float
    rate: float
    records: int
    usage: ResourceUsage


def of_batch(settings: Settings, claim: Claim, began: float, seconds: float, usage: ResourceUsage) -> RebuildTimes:
    """The first `lk batch` of an instance, which began at ``began`` (epoch seconds); its tables say the rest.

    Landing begins by creating an archive; the last commit to a table of the build ends the computation.
    """
    archives = [table_paths.archive(settings, topic, decoder) for topic, decoder in claim.decoders.items()]
    first = min(_commit_times(path for path in archives if delta.exists(path)))
    last = max(_commit_times(table_paths.batch(settings, view, claim.build) for view in claim.views))
    return RebuildTimes(seconds, first - began, claim.cut.size / (last - first), claim.cut.size, usage)


def of_replay(
    epochs: Sequence[Epoch], began: float, seconds: float, records: int, usage: ResourceUsage
) -> RebuildTimes:
    """A replay that began at ``began`` (epoch seconds). The rate is that of its big epochs.

    They last from the planning of the first to the commit of the last; the small ones only follow the producers.
    """
    sizes = [epoch.end.size_since(epoch.start) for epoch in epochs]
    big = [epoch for epoch, size in zip(epochs, sizes, strict=True) if size * 2 >= max(sizes)]
    computing = big[-1].committed_at.timestamp() - big[0].batch_time_ms / 1_000
    rate = big[-1].end.size_since(big[0].start) / computing
    return RebuildTimes(seconds, epochs[0].batch_time_ms / 1_000 - began, rate, records, usage)


def _commit_times(paths: Iterable[str]) -> list[float]:
    """When the commits of some Delta tables were written, in epoch seconds."""
    return [commit["timestamp"] / 1_000 for path in paths for commit in delta.table(path).history()]
