"""For how long the records that a view does not show have been in the log."""

from __future__ import annotations

from collections.abc import Iterable

from core.cut import Cut
from core.identifiers import Name
from flows.live_page.end_history import ByTopic, EndHistory
from flows.live_page.snapshot import LiveRun, Snapshot
from infra.control.manifest import read_up_to


def seconds_waiting(snapshot: Snapshot, ends: EndHistory) -> dict[Name, float | None]:
    """View -> the seconds since its oldest record that it does not show; None if they are not known."""
    status, sources = snapshot.status.value, snapshot.sources
    is_known = ends.last is not None and not snapshot.log.problem
    runs = {live.run.id: ends_read(live) for live in snapshot.runs.value or () if live.is_read}
    seconds: dict[Name, float | None] = {}
    for view in status.views if status else ():
        if view.view in sources:
            of_run = runs.get(view.run) if view.run else {}
            served = _served(of_run, view.cut, sources[view.view]) if of_run is not None else None
            seconds[view.view] = ends.seconds_unserved(served) if is_known and served is not None else None
    return seconds


def ends_read(live: LiveRun) -> ByTopic:
    """The end offsets up to which a run has read the log."""
    offsets: dict[Name, dict[int, int]] = {}
    for topic, partition, end in read_up_to(live.run, live.last).ends:
        offsets.setdefault(topic, {})[partition] = end
    return offsets


def _served(of_run: ByTopic, cut: Cut, topics: Iterable[Name]) -> ByTopic:
    """The end of what a view serves of its topics: its run's, where that is further than the cut."""
    ends = {topic: dict(of_run.get(topic, {})) for topic in topics}
    for topic, partition, end in cut.ends:
        if topic in ends:
            ends[topic][partition] = max(end, ends[topic].get(partition, 0))
    return ends
