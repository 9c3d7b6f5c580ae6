"""Readers that ask the same question all the time, and the account of what they were told.

The question is how many trades are counted. Every epoch of a run ends at an exact count, told by its manifest; so an
answer that is no such count is the state of no single moment: a mix of two, or something lost or counted twice.
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
from flows.measure.demo_queries import count_sql
from flows.measure.freshness import percentile
from infra.control.epochs import read_epochs
from infra.settings import Settings
from infra.trino.metastore import literal, query

SLOW, QUICK = 2.0, 10.0  # questions a second: always, and around a change of what is served
_THREADS = 8


@dataclass(frozen=True)
class ReaderAnswer:
    """One answer: when it was due to be asked and when it had arrived (``time.monotonic``), and what it said.

    ``mode`` is what serving.status said in the same query.
    """

    asked: float
    arrived: float
    mode: str
    count: int


@dataclass(frozen=True)
class Stretch:
    """A time in which no answer may be smaller than one before it, nor come from another mode, if one is named."""

    began: float = -inf
    ended: float = inf
    mode: str | None = None


@dataclass(frozen=True)
class ReaderAccount:
    """What the readers were told. ``errors`` are questions that failed and answers that must not have been given.

    ``pause`` is the longest time without an answer; ``p50`` and ``slowest`` are seconds that an answer took.
    """

    answers: int
    modes: Mapping[str, int]
    errors: tuple[str, ...]
    pause: float
    p50: float
    slowest: float


@dataclass
class Readers:
    """Asks at a steady rate, however long answers take; ``ask`` gives the mode and the count."""

    ask: Callable[[], tuple[str, int]]
    answers: list[ReaderAnswer] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    quick_until: float = 0.0

    def hurry(self, seconds: float) -> None:
        """Asks QUICK questions a second for some time from now."""
        self.quick_until = max(self.quick_until, time.monotonic() + seconds)

    def run(self, stop: threading.Event) -> None:
        """Asks until told to stop, and waits for what is under way."""
        due = time.monotonic()
        with ThreadPoolExecutor(_THREADS, "reader") as pool:
            while not stop.wait(max(0.0, due - time.monotonic())):
                pool.submit(self._one, due)
                due += 1 / (QUICK if due < self.quick_until else SLOW)

    def _one(self, due: float) -> None:
        try:
            mode, count = self.ask()
        except Exception as e:  # whatever it is, a reader saw it
            self.failures.append(f"{type(e).__name__}: {e}")
        else:
            self.answers.append(ReaderAnswer(due, time.monotonic(), mode, count))


def question(settings: Settings, catalog: Catalog, view: Name) -> Callable[[], tuple[str, int]]:
    """Asks Trino, in one query, for the count of a view and for the mode that serving.status tells of it."""
    status = quoted(Name("lake"), Name("serving"), Name("status"))
    sql = f'SELECT mode, ({count_sql(catalog.views[view])}) FROM {status} WHERE "view" = {literal(view)}'  # noqa: S608

    def ask() -> tuple[str, int]:
        mode, count = query(settings, sql).rows[0]
        return str(mode), int(count)

    return ask


def truths(settings: Settings, topic: Name, its_runs: Iterable[Name]) -> frozenset[int]:
    """Events of a topic that runs from offset 0 had counted at the end of each of their epochs."""
    return frozenset(count for run in its_runs for count in _counts(settings, topic, run))


def account(
    answers: Sequence[ReaderAnswer], failures: Sequence[str], known: frozenset[int], stretches: Sequence[Stretch]
) -> ReaderAccount:
    """Judges every answer; ``known`` are the counts that were true at some moment."""
    took = sorted(answer.arrived - answer.asked for answer in answers)
    arrived = sorted(answer.arrived for answer in answers)
    untrue = (f"{one.count:,} is the count of no single moment" for one in answers if one.count not in known)
    broken = (error for stretch in stretches for error in _broken(answers, stretch))
    return ReaderAccount(
        answers=len(answers),
        modes=dict(sorted(Counter(answer.mode for answer in answers).items())),
        errors=(*failures, *untrue, *broken),
        pause=max((later - earlier for earlier, later in pairwise(arrived)), default=0.0),
        p50=percentile(took, 50) if took else 0.0,
        slowest=max(took, default=0.0),
    )


def _broken(answers: Sequence[ReaderAnswer], stretch: Stretch) -> Iterator[str]:
    """Answers that lie wholly inside a stretch and break what holds in it."""
    inside = [one for one in answers if stretch.began <= one.asked and one.arrived <= stretch.ended]
    for one in inside:
        most = max((other.count for other in inside if other.arrived <= one.asked), default=0)
        if one.count < most:
            yield f"{one.count:,} was answered after {most:,}"
        if stretch.mode not in (None, one.mode):
            yield f"{one.mode} answered while {stretch.mode} served"


def _counts(settings: Settings, topic: Name, run: Name) -> Iterator[int]:
    added = (
        sum(row.decoded for place, row in epoch.counted.items() if place.partition("/")[0] == topic)
        for epoch in read_epochs(settings, run)
    )
    return accumulate(added, initial=0)
