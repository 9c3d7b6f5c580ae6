"""Readers that query the same count all the time, and checks of every answer.

The count is the number of trades. The manifest has the exact count at the end of each epoch. So any other answer is
wrong: it mixes two states, or a record was lost or counted twice.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import inf

from core.catalog import Catalog
from core.identifiers import Name, quoted
from core.record_counts import of_topic
from flows.measure.demo_queries import count_sql
from flows.measure.freshness import percentile
from infra.control import runs
from infra.control.manifest import read_epochs
from infra.settings import Settings
from infra.trino.metastore import as_reader, query, sql_literal

SLOW, QUICK = 1.0, 10.0  # queries a second: normally, and around a change of what is served
AT_ONCE = 4  # queries in progress


@dataclass(frozen=True)
class ReaderAnswer:
    """One answer: when the query was due and when the answer arrived (``time.monotonic``), and its values.

    ``mode`` is from ``serving.status``, read in the same query.
    """

    due: float
    arrived: float
    mode: str
    count: int


@dataclass(frozen=True)
class Period:
    """A period in which no count may go back, and in which every answer has the mode, unless that is None."""

    began: float = -inf
    ended: float = inf
    mode: str | None = None


@dataclass(frozen=True)
class ReaderAccount:
    """All answers in numbers. ``errors`` has a text for each failed query and for each wrong answer.

    ``pause`` is the longest time without an answer; ``p50`` and ``slowest`` are query times. All in seconds.
    """

    answers: int
    modes: Mapping[str, int]
    errors: tuple[str, ...]
    pause: float
    p50: float
    slowest: float


@dataclass(frozen=True)
class TimelineAnswer:
    """An answer near a change: when it arrived, in seconds since the change, the seconds that it took, and its mode."""

    since: float
    seconds: float
    mode: str


@dataclass
class Readers:
    """Queries at a steady rate; ``query`` returns the mode and the count.

    At most AT_ONCE queries run at a time. The next one is late then: a backlog would keep a slow machine busy, and
    the time of its answer counts from when it was due.
    """

    query: Callable[[], tuple[str, int]]
    answers: list[ReaderAnswer] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    quick_until: float = 0.0

    def hurry(self, seconds: float) -> None:
        """Queries QUICK times a second for some seconds from now."""
        self.quick_until = max(self.quick_until, time.monotonic() + seconds)

    def run(self, stop: threading.Event) -> None:
        """Queries until ``stop`` is set, then waits for the queries in progress."""
        due, free = time.monotonic(), threading.Semaphore(AT_ONCE)
        with ThreadPoolExecutor(AT_ONCE, "reader") as pool:
            while not stop.wait(max(0.0, due - time.monotonic())):
                free.acquire()
                pool.submit(self._answer, due).add_done_callback(lambda _: free.release())
                interval = 1 / (QUICK if due < self.quick_until else SLOW)
                due = max(due + interval, time.monotonic())

    def _answer(self, due: float) -> None:
        try:
            mode, count = self.query()
        except Exception as e:  # any error is one that a reader saw
            self.failures.append(f"{type(e).__name__}: {e}")
        else:
            self.answers.append(ReaderAnswer(due, time.monotonic(), mode, count))


def count_query(settings: Settings, catalog: Catalog, view: Name) -> Callable[[], tuple[str, int]]:
    """A function that queries the count of a view, and its mode in ``serving.status``, in one Trino query."""
    status = quoted(Name("lake"), Name("serving"), Name("status"))
    sql = f'SELECT mode, ({count_sql(catalog.views[view])}) FROM {status} WHERE "view" = {sql_literal(view)}'  # noqa: S608

    def mode_and_count() -> tuple[str, int]:
        mode, count = query(as_reader(settings), sql).rows[0]
        return str(mode), int(count)

    return mode_and_count


def epoch_counts(settings: Settings, topic: Name, run_ids: Iterable[Name]) -> frozenset[int]:
    """The events of a topic at the end of each epoch of the runs; every record before their starts is an event."""
    return frozenset(count for run in run_ids for count in _counts(settings, topic, run))


def account(
    answers: Sequence[ReaderAnswer], failures: Sequence[str], counts: frozenset[int], periods: Sequence[Period]
) -> ReaderAccount:
    """Checks every answer; ``counts`` are the possible ones: those at the end of an epoch."""
    times = sorted(answer.arrived - answer.due for answer in answers)
    arrived = sorted(answer.arrived for answer in answers)
    impossible = (f"no epoch ends at the count {a.count:,}" for a in answers if a.count not in counts)
    broken_rules = (error for period in periods for error in _broken_rules(answers, period))
    return ReaderAccount(
        answers=len(answers),
        modes=dict(sorted(Counter(answer.mode for answer in answers).items())),
        errors=(*failures, *impossible, *broken_rules),
        pause=max((later - earlier for earlier, later in pairwise(arrived)), default=0.0),
        p50=percentile(times, 50) if times else 0.0,
        slowest=max(times, default=0.0),
    )


def timeline(answers: Sequence[ReaderAnswer], change: float, around: float) -> tuple[TimelineAnswer, ...]:
    """The answers that arrived within ``around`` seconds of a change (``time.monotonic``), in the order of arrival."""
    near = sorted((a for a in answers if abs(a.arrived - change) <= around), key=lambda answer: answer.arrived)
    return tuple(TimelineAnswer(a.arrived - change, a.arrived - a.due, a.mode) for a in near)


def _broken_rules(answers: Sequence[ReaderAnswer], period: Period) -> Iterator[str]:
    """Errors of the answers whose queries were due and which arrived in a period."""
    inside = [answer for answer in answers if period.began <= answer.due and answer.arrived <= period.ended]
    for answer in inside:
        highest = max((earlier.count for earlier in inside if earlier.arrived <= answer.due), default=0)
        if answer.count < highest:
            yield f"the count went back from {highest:,} to {answer.count:,}"
        if period.mode not in (None, answer.mode):
            yield f"{answer.mode} answered while {period.mode} served"


def _counts(settings: Settings, topic: Name, run: Name) -> Iterator[int]:
    added = (of_topic(epoch.counted, topic).decoded for epoch in read_epochs(settings, run))
    return accumulate(added, initial=runs.read_run(settings, run).start.only([topic]).size)
