"""What the page draws over time: samples of rates, lag and waiting, and marks; both are bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from core.identifiers import Name
from core.positions import LogPartition
from flows.live_page.end_history import EndHistory, MomentEnds
from flows.live_page.snapshot import LiveRun, Snapshot
from flows.live_page.waiting_times import ends_read, seconds_waiting

SAMPLES = 1_800  # an hour while somebody looks
MARKS = 200
_MarkId = tuple[str, str]  # what happened, and its number: the text of a mark changes with its state


@dataclass(frozen=True)
class LiveSample:
    """One moment. Rates are records per second; ``lag`` is that of the view with the largest, ``waiting`` seconds.

    None where a server that tells it was away.
    """

    at: float
    appended: float | None
    committed: float | None
    lag: int | None
    waiting: float | None


@dataclass(frozen=True, order=True)
class Mark:
    """Something that happened: a publication, a build that was checked, a replay that was declared."""

    at: float
    kind: str
    text: str


@dataclass(frozen=True)
class _Waiting:
    """How long records of each view have waited, by a snapshot and the last ends before it."""

    snapshot: Snapshot
    last: MomentEnds | None
    seconds: dict[Name, float | None]


class RecentSamples:
    """The samples and marks of the last time; one thread adds, others read."""

    def __init__(self) -> None:
        self._ends = EndHistory()
        self._samples: deque[LiveSample] = deque(maxlen=SAMPLES)
        self._marks: dict[_MarkId, Mark] = {}
        self._waiting: _Waiting | None = None

    def add(self, snapshot: Snapshot) -> LiveSample | None:
        """Adds what a snapshot says, if its log was read again."""
        self._add_marks(snapshot)
        log = snapshot.log
        if log.value is None or log.at is None or log.problem:
            return self._append(LiveSample(snapshot.at.timestamp(), None, None, None, None))
        if self._ends.last is not None and self._ends.last.clock == log.clock:
            return None
        runs = {live.run.id: ends_read(live) for live in serving(snapshot) if live.is_read}
        self._ends.add(log.clock, log.value, runs)
        waiting = self.waiting(snapshot).values()
        lags = [view.lag for view in snapshot.status.value.views] if snapshot.status.value else []
        rates = self.topic_rates().values()
        return self._append(
            LiveSample(
                at=log.at.timestamp(),
                appended=sum(rates) if rates else None,
                committed=self._committed(),
                lag=max((lag for lag in lags if lag is not None), default=None),
                waiting=max((seconds for seconds in waiting if seconds is not None), default=None),
            )
        )

    @property
    def samples(self) -> tuple[LiveSample, ...]:
        """The samples, oldest first."""
        return tuple(self._samples)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks, oldest first."""
        return tuple(sorted(self._marks.values()))

    def topic_rates(self) -> dict[LogPartition, float]:
        """Records per second that each partition has got lately; empty before the second sample."""
        return self._ends.partition_rates()

    def run_rates(self) -> dict[Name, float]:
        """Records per second that each serving run has committed lately."""
        return self._ends.run_rates()

    def waiting(self, snapshot: Snapshot) -> dict[Name, float | None]:
        """View -> for how many seconds the oldest record that it does not show has been in the log.

        It is as exact as the samples are close, and not more than their whole time. None if it is not known. Computed
        once for a snapshot: an instance may have a thousand views.
        """
        last = self._ends.last
        if self._waiting is None or self._waiting.snapshot is not snapshot or self._waiting.last is not last:
            self._waiting = _Waiting(snapshot, last, seconds_waiting(snapshot, self._ends))
        return self._waiting.seconds

    def _committed(self) -> float | None:
        rates = self.run_rates()
        return sum(rates.values()) if rates else None

    def _append(self, sample: LiveSample) -> LiveSample:
        """Adds a sample; those that are later than it are from before the clock was set back."""
        while self._samples and self._samples[-1].at > sample.at:
            self._samples.pop()
        self._samples.append(sample)
        return sample

    def _add_marks(self, snapshot: Snapshot) -> None:
        self._marks.update(_marks(snapshot))
        for key in sorted(self._marks, key=lambda key: self._marks[key].at)[:-MARKS]:
            del self._marks[key]


def serving(snapshot: Snapshot) -> tuple[LiveRun, ...]:
    """The runs that serve."""
    return tuple(live for live in snapshot.runs.value or () if live.role == "serving")


def _marks(snapshot: Snapshot) -> Iterable[tuple[_MarkId, Mark]]:
    for change in snapshot.lake.value.changes if snapshot.lake.value else ():
        modes = " and ".join(sorted({pin.mode for pin in change.pins.values()}))
        state = "" if change.state == "done" else f", {change.state}"
        text = f"publication {change.seq}: {change.kind}, {modes}{state}"
        yield ("publication", str(change.seq)), Mark(change.at.timestamp(), change.kind, text)
    for live in snapshot.runs.value or ():
        if live.run.kind == "replay":
            at = _seconds(live.run.created_at)
            yield ("replay", live.run.id), Mark(at, "replay", f"replay {live.run.id} declared")
    gate = snapshot.gate.value
    if gate is not None and gate.build is not None and gate.results:
        at = _seconds(max(result.at for result in gate.results))
        yield ("build", gate.build), Mark(at, "batch", f"build {gate.build} checked")


def _seconds(moment: datetime) -> float:
    return moment.astimezone(UTC).timestamp()
