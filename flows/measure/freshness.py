"""Freshness: time from the moment at which an event is due to be sent until a Trino query has counted it.

Method. One thread queries the total count of the served view all the time. Event k of n is visible once an answer that
is at least k above the first count has arrived. So every event is a sample, and the query time is included. Events
become visible in the order in which they are due; if partitions overtake each other inside an epoch, two samples swap
and their sum stays. A sample starts when the event is due, so a slow producer makes the figure worse, never better.
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
    """Seconds from due to visible, over every event. ``polls`` is the number of queries, ``poll`` their median seconds.

    ``went_back`` is the number of answers below an earlier one: 0 unless something is wrong.
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
    """One answer: when the query began, when the answer arrived, and the count."""

    began: float
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
        """Records the due time (``time.monotonic``) of an event; to be called as it is sent."""
        self.due.append(due)

    @property
    def visible(self) -> int:
        """The number of visible events. Raises the error that ended the queries, if any."""
        if self.failure:
            raise self.failure
        return self.answers[-1].count - self.answers[0].count if self.answers else 0

    def result(self, deadline: float = 60.0) -> Freshness:
        """Waits until every sent event is visible. Raises TryAgain after ``deadline`` seconds."""
        wait_until(self._all_visible, deadline, every=_GAP, error=lambda: self._timeout(deadline))
        return summary(self.due, self.answers)

    def _all_visible(self) -> bool:
        return self.visible >= len(self.due)

    def _timeout(self, deadline: float) -> TryAgain:
        return TryAgain(
            f"{len(self.due) - self.visible:,} of {len(self.due):,} events are not visible after {deadline:.0f} s",
            fix="run `lk status`",
        )

    def poll(self, stop: threading.Event) -> None:
        """Queries until ``stop`` is set; an error ends it, and ``result`` raises it."""
        while not stop.is_set():
            try:
                self.query()
            except Exception as e:  # ``visible`` raises it in the caller's thread
                self.failure = e
                return
            stop.wait(_GAP)

    def query(self) -> None:
        """Queries the count once."""
        began = time.monotonic()
        count = self.count()
        self.answers.append(CountSeen(began, time.monotonic(), count))


@contextmanager
def measuring(count: Callable[[], int]) -> Iterator[Meter]:
    """Yields a meter that queries in a thread; ``count`` returns the total of the served view."""
    meter, stop = Meter(count), threading.Event()
    meter.query()
    poller = threading.Thread(target=meter.poll, args=(stop,), name="freshness", daemon=True)
    poller.start()
    try:
        yield meter
    finally:
        stop.set()
        poller.join(30)


def delays(due: Sequence[float], answers: Sequence[CountSeen]) -> list[float]:
    """Seconds from due to visible of every event, in sending order. The first answer is the count before them."""
    highest = list(accumulate((answer.count - answers[0].count for answer in answers), max))
    return [answers[bisect_left(highest, number)].arrived - at for number, at in enumerate(due, 1)]


def summary(due: Sequence[float], answers: Sequence[CountSeen]) -> Freshness:
    """The distribution of the delays (nearest rank)."""
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
        poll=percentile(sorted(answer.arrived - answer.began for answer in answers), 50),
        went_back=sum(count < high for count, high in zip(counts, highest, strict=True)),
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Nearest-rank percentile of sorted values."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
