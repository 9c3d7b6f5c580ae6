"""Freshness: from the moment an event is due to be sent until a Trino query that counts it has answered.

Method. One thread asks the served view for its total count, again and again. Event k of n counts as visible when the
first answer that is at least k above the count before the measurement has fully arrived; so every event gives a sample,
none is left out, and the time of the query itself is included. Events are taken to become visible in the order in
which they were due: where partitions overtake each other inside one epoch, two samples swap, but their sum stays.
The clock is the schedule, not the send: a producer that stalls makes the figure worse, never better.
"""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate

from core.errors import TryAgain
from infra.retry import wait_until

_GAP = 0.1


@dataclass(frozen=True)
class Freshness:
    """Seconds from due to visible, over every event; ``polls`` answers were counted, ``poll`` is their median length.

    ``went_back`` counts answers smaller than one before them: 0 unless something is wrong.
    """

    samples: int
    p50: float
    p95: float
    p99: float
    worst: float
    polls: int
    poll: float
    went_back: int


@dataclass(frozen=True)
class CountSeen:
    """One answer: when it was asked for, when it had arrived, and the count."""

    asked: float
    arrived: float
    count: int


@dataclass
class Meter:
    """Collects due times and answers while events flow."""

    count: Callable[[], int]
    due: list[float] = field(default_factory=list)
    answers: list[CountSeen] = field(default_factory=list)
    failure: Exception | None = None

    def on_send(self, _number: int, due: float) -> None:
        """To be called as each event is sent, with its due time on ``time.monotonic``."""
        self.due.append(due)

    @property
    def visible(self) -> int:
        """Events visible so far. Raises what ended the questions, if anything did."""
        if self.failure:
            raise self.failure
        return self.answers[-1].count - self.answers[0].count if self.answers else 0

    def result(self, deadline: float = 60.0) -> Freshness:
        """Waits until every event sent is visible. Raises TryAgain when that takes longer than ``deadline`` seconds."""
        wait_until(self._settled, deadline, every=_GAP, error=lambda: self._late(deadline))
        return summary(self.due, self.answers)

    def _settled(self) -> bool:
        return self.visible >= len(self.due)

    def _late(self, deadline: float) -> TryAgain:
        return TryAgain(
            f"{len(self.due) - self.visible:,} of {len(self.due):,} events are not visible after {deadline:.0f} s",
            fix="look at `lk status`",
        )

    def poll(self, stop: threading.Event) -> None:
        """Asks until told to stop; an error ends it and comes out of ``result``."""
        while not stop.is_set():
            try:
                self.ask()
            except Exception as e:  # whatever it is, the caller's thread must hear of it
                self.failure = e
                return
            stop.wait(_GAP)

    def ask(self) -> None:
        """One question, one answer."""
        asked = time.monotonic()
        count = self.count()
        self.answers.append(CountSeen(asked, time.monotonic(), count))


@contextmanager
def measuring(count: Callable[[], int]) -> Iterator[Meter]:
    """A meter whose questions run beside the caller; ``count`` gives the served view's total."""
    meter, stop = Meter(count), threading.Event()
    meter.ask()
    poller = threading.Thread(target=meter.poll, args=(stop,), name="freshness", daemon=True)
    poller.start()
    try:
        yield meter
    finally:
        stop.set()
        poller.join(30)


def delays(due: Sequence[float], answers: Sequence[CountSeen]) -> list[float]:
    """Seconds from due to visible, one per event, in the order of sending; the first answer is the count before."""
    reached = list(accumulate((answer.count - answers[0].count for answer in answers), max))
    return [answers[bisect_left(reached, number)].arrived - at for number, at in enumerate(due, 1)]


def summary(due: Sequence[float], answers: Sequence[CountSeen]) -> Freshness:
    """The distribution of the delays, by nearest rank."""
    sorted_delays = sorted(delays(due, answers))
    counts = [answer.count for answer in answers]
    highest = accumulate(counts, max)
    return Freshness(
        samples=len(sorted_delays),
        p50=percentile(sorted_delays, 50),
        p95=percentile(sorted_delays, 95),
        p99=percentile(sorted_delays, 99),
        worst=sorted_delays[-1],
        polls=len(answers),
        poll=percentile(sorted(answer.arrived - answer.asked for answer in answers), 50),
        went_back=sum(count < most for count, most in zip(counts, highest, strict=True)),
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Nearest-rank percentile of sorted values."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
