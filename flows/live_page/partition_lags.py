"""How far what is served is behind each partition of the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.identifiers import Name
from core.positions import LogPartition
from flows.live_page.recent_samples import serving
from flows.live_page.snapshot import LiveRun, PartitionEnds, Snapshot


def partition_lags(snapshot: Snapshot) -> list[tuple[PartitionEnds, int | None]]:
    """Each partition with the largest lag of what serves it: runs, and builds without a run; None if one is unknown."""
    runs, builds = serving(snapshot), _builds_alone(snapshot)
    return [
        (part, _largest([*_of_runs(runs, part), *_of_builds(snapshot, builds, part)]))
        for part in snapshot.log.value or ()
    ]


def _builds_alone(snapshot: Snapshot) -> dict[Name, list[dict[LogPartition, int]]]:
    """Topic -> the ends of the build of each view that reads it and that no run serves."""
    sources, status = snapshot.sources, snapshot.status.value
    ends: dict[Name, list[dict[LogPartition, int]]] = {}
    for view in (view for view in (status.views if status else ()) if view.run is None):
        of_view: dict[LogPartition, int] = {
            LogPartition(topic, partition): end for topic, partition, end in view.cut.ends
        }
        for topic in sources.get(view.view, ()):
            ends.setdefault(topic, []).append(of_view)
    return ends


def _of_runs(runs: Iterable[LiveRun], part: PartitionEnds) -> Iterable[int | None]:
    for live in runs:
        if part.topic in live.run.topics:
            of_run = live.state.lag  # without the partitions in which it has no lag
            yield None if of_run is None else of_run.get(str(LogPartition(part.topic, part.partition)), 0)


def _of_builds(
    snapshot: Snapshot, builds: Mapping[Name, list[dict[LogPartition, int]]], part: PartitionEnds
) -> Iterable[int | None]:
    for ends in builds.get(part.topic, ()):
        behind = max(0, part.end - ends.get(LogPartition(part.topic, part.partition), 0))
        yield None if snapshot.log.problem else behind


def _largest(lags: Iterable[int | None]) -> int | None:
    numbers = list(lags)
    return None if None in numbers else max((lag for lag in numbers if lag is not None), default=None)
