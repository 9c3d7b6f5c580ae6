"""A full computation from the log by a process that starts for it: start-up told apart from the rate after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infra.control import epoch_times
from infra.control.builds import build_times
from infra.control.claims import Claim
from infra.control.manifest import Epoch
from infra.lake import delta, table_paths
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings


@dataclass(frozen=True)
class FullComputation:
    """Seconds of the whole command, and of its start-up, in which it reads no record yet.

    ``rate`` is the records per second that it read and computed after that. ``usage`` is what its processes used for
    ``records`` records, start-up included.
    """

    seconds: float
    start_up: float
    rate: float
    records: int
    usage: ResourceUsage


def of_batch(settings: Settings, claim: Claim, began: float, seconds: float, usage: ResourceUsage) -> FullComputation:
    """The first `lk batch` of an instance, which began at ``began`` (epoch seconds).

    It reads from when landing creates the first archive, and computes until the last view is built.
    """
    paths = [table_paths.archive(settings, topic, decoder) for topic, decoder in claim.decoders.items()]
    first = min(_created(path) for path in paths if delta.exists(path))
    _, last = build_times(settings, claim.build)
    rate = claim.cut.size / (last.timestamp() - first)
    return FullComputation(seconds, first - began, rate, claim.cut.size, usage)


def of_replay(
    epochs: Sequence[Epoch], began: float, seconds: float, records: int, usage: ResourceUsage
) -> FullComputation:
    """A replay that began at ``began`` (epoch seconds). The rate is that of its big epochs.

    They last from the planning of the first to the commit of the last; the small ones only follow the producers.
    """
    big = epoch_times.backlog(epochs)
    return FullComputation(seconds, epoch_times.began(epochs) - began, epoch_times.rate(big), records, usage)


def _created(path: str) -> float:
    """When the first commit to a Delta table was written, in epoch seconds."""
    return float(delta.table(path).history()[-1]["timestamp"]) / 1_000
