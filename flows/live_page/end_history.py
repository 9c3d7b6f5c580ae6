"""The ends of the log and of the runs in the last minutes, in bounded memory: rates and waiting follow from them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from core.identifiers import Name
from core.positions import LogPartition
from flows.live_page.snapshot import PartitionEnds

MOMENTS = 300  # ten minutes while somebody looks
_RATE_SECONDS = 10.0  # a rate is that of the samples of the last seconds
_KEPT_SECONDS = 600.0  # how far back the moments reach, also where they are few
_MOST_OFFSETS = 4_000_000  # of the log in all moments, of eight bytes each
_FEWEST_MOMENTS = 40  # of however many partitions
_RECENT_MOMENTS = 10  # more than a rate looks at
ByTopic = Mapping[Name, Mapping[int, int]]  # topic -> partition -> offset


@dataclass(frozen=True)
class MomentEnds:
    """The end offsets of the log and of each run at a moment, in seconds of the clock that nobody sets.

    ``places``: topic -> where ``offsets`` has the ends of its partitions. ``runs`` is empty once no rate needs them.
    """

    clock: float
    places: Mapping[Name, range]
    offsets: array[int]
    runs: Mapping[Name, ByTopic]

    def end(self, topic: Name, partition: int) -> int | None:
        """The end of a partition; None if the topic did not have it then."""
        places = self.places.get(topic, range(0))
        return self.offsets[places[partition]] if partition < len(places) else None

    def is_ahead_of(self, served: ByTopic) -> bool:
        """Whether the log had a record of these topics that is not served."""
        return any(
            self.offsets[place] > of_topic.get(partition, 0)
            for topic, of_topic in served.items()
            for partition, place in enumerate(self.places.get(topic, range(0)))
        )


class EndHistory:
    """The moments of the last minutes, oldest first; of a log with many partitions there are fewer, further apart."""

    def __init__(self) -> None:
        self.moments: list[MomentEnds] = []

    @property
    def last(self) -> MomentEnds | None:
        """The newest moment."""
        return self.moments[-1] if self.moments else None

    def add(self, clock: float, log: Sequence[PartitionEnds], runs: Mapping[Name, ByTopic]) -> None:
        """Adds a moment. ``log`` has the partitions of each topic together, from 0 on."""
        places, last = _places(log), self.last
        shared = last.places if last is not None and last.places == places else places  # one object for all moments
        moments = [*self.moments, MomentEnds(clock, shared, array("q", [part.end for part in log]), runs)]
        self.moments = _bounded(moments, _first_of_rates(moments))

    def partition_rates(self) -> dict[LogPartition, float]:
        """Records per second that each partition has got lately; empty before the second moment."""
        if len(self.moments) < 2:
            return {}
        before, last, seconds = self._span()
        rates = {}
        for topic, places in last.places.items():
            for partition, place in enumerate(places):
                end, earlier = last.offsets[place], before.end(topic, partition)
                rates[LogPartition(topic, partition)] = 0.0 if earlier is None else max(0, end - earlier) / seconds
        return rates

    def run_rates(self) -> dict[Name, float]:
        """Records per second that each run has committed lately; empty before the second moment."""
        if len(self.moments) < 2:
            return {}
        before, last, seconds = self._span()
        return {run: _growth(before.runs[run], ends) / seconds for run, ends in last.runs.items() if run in before.runs}

    def seconds_unserved(self, served: ByTopic) -> float:
        """Seconds since the first moment whose log had a record that is not served; the ends of a log only grow."""
        first = bisect_left(self.moments, True, key=lambda moment: moment.is_ahead_of(served))
        return self.moments[-1].clock - self.moments[first].clock if first < len(self.moments) else 0.0

    def _span(self) -> tuple[MomentEnds, MomentEnds, float]:
        """The moments between which rates are measured, and the seconds between them."""
        before, last = self.moments[_first_of_rates(self.moments)], self.moments[-1]
        return before, last, last.clock - before.clock


def _first_of_rates(moments: Sequence[MomentEnds]) -> int:
    """The number of the last moment that is some seconds old; the first one if none is."""
    newest = moments[-1].clock
    return next((n for n in reversed(range(len(moments))) if newest - moments[n].clock >= _RATE_SECONDS), 0)


def _places(log: Sequence[PartitionEnds]) -> dict[Name, range]:
    counts = Counter([part.topic for part in log])  # in the order of the log
    ends = accumulate(counts.values())
    return {topic: range(end - count, end) for (topic, count), end in zip(counts.items(), ends, strict=True)}


def _bounded(moments: list[MomentEnds], recent: int) -> list[MomentEnds]:
    """The moments that are kept. Those before ``recent`` need no runs, and may be far apart."""
    most = max(_FEWEST_MOMENTS, min(MOMENTS, _MOST_OFFSETS // max(1, len(moments[-1].offsets))))
    apart = 0.0 if most == MOMENTS else _KEPT_SECONDS / (most - _RECENT_MOMENTS)
    kept: list[MomentEnds] = []
    for moment in moments[:recent]:
        if not kept or moment.clock - kept[-1].clock >= apart:
            kept.append(replace(moment, runs={}) if moment.runs else moment)
    return [*kept, *moments[recent:]][-most:]


def _growth(before: ByTopic, after: ByTopic) -> int:
    """Records between two ends; a topic that was created again counts as nothing."""
    return sum(
        max(0, end - before.get(topic, {}).get(partition, 0))
        for topic, ends in after.items()
        for partition, end in ends.items()
    )
