"""`lk bench soak`: events flow and readers query for hours, while batches and switches follow each other.

A cycle publishes batches, switches to Kappa, goes back, ends the replayed run and cleans up. The run that serves in
Lambda stays for the whole time. Retention and leases are short and epochs follow at once, so that in hours happens
what otherwise takes weeks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from core.errors import TryAgain
from core.identifiers import Name
from flows import overview
from flows.bench.soak.growth import growth
from flows.bench.soak.samples import Sampler
from flows.compare_served import compare_served_views
from flows.demo.readers import Period, Readers, account, count_query, epoch_counts
from flows.measure import demo_queries, load, run_verb
from flows.measure.console import note
from flows.measure.demo_queries import BY_DAY
from flows.measure.figures import Figure
from flows.measure.live_system import RATE, SEEDS, LiveInstance
from flows.measure.load import TRADES
from infra.control.comparisons import Comparison
from infra.control.manifest import last_epoch
from infra.kafka import kafka_admin
from infra.progress_bar import bar
from infra.retry import retry_on

CHANGED = {  # what makes weeks of upkeep happen in hours
    "trigger": "0 milliseconds",
    "retention_minutes": 1,
    "lease_seconds": 12.0,
    "yield_seconds": 0.2,
    "log_mebibytes": 1,
}
_BATCHES = 2  # of a cycle, before its switch
_PATIENCE = 900.0  # seconds, in which a verb may ask to be run again


@dataclass(frozen=True)
class SoakInstance:
    """An instance with a speed run and the settings CHANGED, and for how many hours it works."""

    live: LiveInstance
    hours: float


@dataclass
class _Progress:
    """What the cycles have done, and what readers may have seen meanwhile."""

    cycles: int = 0
    back_at: float = float("-inf")  # when the last rollback ended (``time.monotonic``)
    counts: set[int] = field(default_factory=set)
    periods: list[Period] = field(default_factory=list)


def soak(instance: SoakInstance, _repeat: int) -> list[Figure]:
    """Cycles for some hours, at least one; then the proof that nothing was lost, and the slopes."""
    live = instance.live
    readers, sampler, progress = Readers(count_query(live.settings, live.catalog, BY_DAY)), Sampler(live), _Progress()
    load.send_access_log(live.settings, live.catalog)
    until = time.monotonic() + instance.hours * 3_600
    with load.in_background(readers.run):
        with load.in_background(sampler.run), load.flowing(live.settings, live.catalog, next(SEEDS), RATE):
            for number in count(1):
                with bar(f"cycle {number}"):
                    _cycle(live, progress)
                note(f"cycle {number}: {_state(live)}")
                if time.monotonic() > until:
                    break
        load.wait_for_lag_zero(live.settings, live.run)
    progress.periods.append(Period(began=progress.back_at))
    progress.counts |= epoch_counts(live.settings, TRADES, [live.run])
    seen = account(readers.answers, readers.failures, frozenset(progress.counts), progress.periods)
    return [*_work(live, progress, seen.answers), *_exact(live, seen.errors), *map(growth, sampler.series())]


def _cycle(live: LiveInstance, progress: _Progress) -> None:
    """Batches, to Kappa and back, and what an operator does after that."""
    for _ in range(_BATCHES):
        _verb(live, "batch")
    replayed = Name(_verb(live, "switch", "kappa")["run"])
    load.wait_for(lambda: load.lag(live.settings, live.run) < RATE, "the run of Lambda")
    progress.periods.append(Period(began=progress.back_at, ended=time.monotonic()))
    _verb(live, "rollback")
    progress.back_at = time.monotonic()
    progress.counts |= epoch_counts(live.settings, TRADES, [replayed])
    _verb(live, "retire", replayed, "--final")
    _verb(live, "cleanup")
    progress.cycles += 1


def _verb(live: LiveInstance, *words: str) -> Any:
    """Runs a verb, and again when it asks for it, as a scheduler does."""
    return retry_on(TryAgain, lambda: run_verb.run(live.settings, live.config, *words), _PATIENCE, every=1.0)


def _state(live: LiveInstance) -> str:
    last = last_epoch(live.settings, live.run)
    return f"epoch {last.number}, {last.end.size:,} records" if last else "no epoch yet"


def _work(live: LiveInstance, progress: _Progress, answers: int) -> list[Figure]:
    """How much was done."""
    last = last_epoch(live.settings, live.run)
    assert last is not None, "the run has epochs"
    how = f"{RATE:,.0f} trades a second; settings {', '.join(f'{name} = {value}' for name, value in CHANGED.items())}"
    return [
        Figure("soak events", "records that were sent, and read by the run that stays", "", (last.end.size,), how=how),
        Figure("soak epochs", "epochs of the same run", "", (last.number + 1,)),
        Figure(
            "soak cycles",
            f"{_BATCHES} batches, to Kappa, back, end of the replay, cleanup",
            "",
            (progress.cycles,),
            least=1,
        ),
        Figure("soak answers", "answers to readers", "", (answers,)),
    ]


def _exact(live: LiveInstance, errors: Sequence[str]) -> list[Figure]:
    """What must be 0: Lambda against a full build, the counts of readers and of the log, and what status reports."""
    compared = compare_served_views(live.settings, live.catalog)
    log_records = kafka_admin.end_offsets(live.settings, [TRADES]).size
    counted = demo_queries.total(live.settings, live.catalog, BY_DAY)
    problems = overview.status(live.settings).unhealthy
    numbers = (
        ("differences", "keys and cells of what is served that differ from a full build", _differences(compared), ""),
        (
            "missing",
            "trades of the log that a query does not count",
            abs(log_records - counted),
            f"{counted:,} counted",
        ),
        ("wrong answers", "wrong or failed answers to readers", len(errors), "; ".join(errors[:1])),
        ("problems", "problems that `lk status` reports", len(problems), "; ".join(problems)),
    )
    return [Figure(f"soak {name}", what, "", (number,), most=0, how=how) for name, what, number, how in numbers]


def _differences(compared: Sequence[Comparison]) -> int:
    return sum(comparison.differences + (not comparison.equal) for comparison in compared)
