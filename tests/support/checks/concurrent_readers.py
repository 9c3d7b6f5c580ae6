"""Concurrent readers. Each answer must equal the log up to one offset per partition, and no answer may go back."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from core.errors import LkError
from infra.settings import Settings
from infra.trino import metastore
from tests.support.oracle.view_oracle import Record, events

QUERY = "SELECT ticker, sum(trades), sum(volume), sum(turnover) FROM lake.serving.trades_by_day GROUP BY ticker"
Sums = tuple[int, int, Decimal]
State = dict[str, Sums]
NOTHING: Sums = (0, 0, Decimal(0))


@dataclass(frozen=True)
class SeenAnswer:
    """The rows of one query and its duration in seconds."""

    rows: State
    seconds: float


@dataclass
class ReaderAnswers:
    """The answers of one reader, in order, and its errors."""

    answers: list[SeenAnswer] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def reading(settings: Settings, count: int, pause: float) -> Iterator[list[ReaderAnswers]]:
    """Runs readers until the block ends. Each queries again ``pause`` seconds after an answer."""
    stop, readers = threading.Event(), [ReaderAnswers() for _ in range(count)]
    threads = [threading.Thread(target=_read, args=(settings, reader, stop, pause), daemon=True) for reader in readers]
    for thread in threads:
        thread.start()
    try:
        yield readers
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def check(readers: Sequence[ReaderAnswers], records: Sequence[Record], *, back: int = 0) -> None:
    """Fails if a reader had an error, or if an answer matches no state of the log or an older one than the last answer.

    ``back`` is how often a reader may go back: once per rollback, because the older run may be some epochs behind.
    """
    states = _states(records)
    homes = {ticker: partition for partition, states_ in states.items() for ticker in states_[-1]}
    for reader in readers:
        assert reader.errors == []
        moments = [_moments(answer.rows, homes, states) for answer in reader.answers]
        older = [(a, b) for a, b in pairwise(moments) if any(b[p] < a[p] for p in b)]
        assert len(older) <= back, f"answers are older than the one before: {older}"


def _moments(rows: State, homes: dict[str, int], states: dict[int, list[State]]) -> dict[int, int]:
    """The number of valid events of each partition in an answer."""
    assert sorted(rows) == sorted(homes.keys() & rows.keys())
    return {
        partition: _moment(rows, homes, partition, partition_states) for partition, partition_states in states.items()
    }


def _moment(rows: State, homes: dict[str, int], partition: int, states: Sequence[State]) -> int:
    partition_rows = {ticker: sums for ticker, sums in rows.items() if homes[ticker] == partition}
    total = sum(sums[0] for sums in partition_rows.values())
    assert total < len(states), f"partition {partition}: {total} events are shown, the log has {len(states) - 1}"
    assert partition_rows == states[total], (
        f"partition {partition}: no offset of the log gives {partition_rows}, nearest {states[total]}"
    )
    return total


def _states(records: Sequence[Record]) -> dict[int, list[State]]:
    """For each partition of the trades, the sums of the first n valid events, for every n."""
    states: dict[int, list[State]] = defaultdict(lambda: [{}])
    for event in events(r for r in records if r.topic == "trades"):
        last = states[event["_partition"]][-1]
        n, volume, turnover = last.get(event["ticker"], NOTHING)
        sums = (n + 1, volume + event["size"], turnover + event["price"] * event["size"])
        states[event["_partition"]].append({**last, event["ticker"]: sums})
    return states


def _read(settings: Settings, reader: ReaderAnswers, stop: threading.Event, pause: float) -> None:
    while not stop.wait(pause):
        started = time.monotonic()
        try:
            rows = metastore.query(settings, QUERY).rows
        except LkError as e:
            reader.errors.append(str(e))
            continue
        state = {str(t): (int(n), int(volume), Decimal(turnover)) for t, n, volume, turnover in rows}
        reader.answers.append(SeenAnswer(state, time.monotonic() - started))
