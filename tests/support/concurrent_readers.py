"""Readers that never pause: each answer must be the log up to one offset of each partition, and none goes back."""

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
class Answer:
    """What one query gave, and how long it took, in seconds."""

    rows: State
    seconds: float


@dataclass
class Reader:
    """One reader's record: its answers in order, and its errors."""

    answers: list[Answer] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def reading(settings: Settings, count: int, pause: float) -> Iterator[list[Reader]]:
    """Readers that ask again ``pause`` seconds after each answer, until the block ends."""
    stop, readers = threading.Event(), [Reader() for _ in range(count)]
    threads = [threading.Thread(target=_read, args=(settings, one, stop, pause), daemon=True) for one in readers]
    for thread in threads:
        thread.start()
    try:
        yield readers
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def check(readers: Sequence[Reader], records: Sequence[Record], *, back: int = 0) -> None:
    """Fails unless no reader had an error and each answer is of one moment of the log, none before the last one's.

    ``back`` is how often a reader may go back: once for each rollback, whose run may be some epochs behind.
    """
    states = _states(records)
    homes = {ticker: partition for partition, states_ in states.items() for ticker in states_[-1]}
    for reader in readers:
        assert reader.errors == []
        moments = [_moments(answer.rows, homes, states) for answer in reader.answers]
        older = [(a, b) for a, b in pairwise(moments) if any(b[p] < a[p] for p in b)]
        assert len(older) <= back, f"answers are older than the one before: {older}"


def _moments(rows: State, homes: dict[str, int], states: dict[int, list[State]]) -> dict[int, int]:
    """Good events of each partition that an answer holds."""
    assert sorted(rows) == sorted(homes.keys() & rows.keys())
    return {partition: _moment(rows, homes, partition, found) for partition, found in states.items()}


def _moment(rows: State, homes: dict[str, int], partition: int, states: Sequence[State]) -> int:
    mine = {ticker: sums for ticker, sums in rows.items() if homes[ticker] == partition}
    total = sum(sums[0] for sums in mine.values())
    assert total < len(states), f"partition {partition}: {total} events are shown, the log has {len(states) - 1}"
    assert mine == states[total], f"partition {partition}: no offset of the log gives {mine}, nearest {states[total]}"
    return total


def _states(records: Sequence[Record]) -> dict[int, list[State]]:
    """For each partition of the trades: what the first n good events add up to, for every n."""
    states: dict[int, list[State]] = defaultdict(lambda: [{}])
    for event in events(r for r in records if r.topic == "trades"):
        last = states[event["_partition"]][-1]
        n, volume, turnover = last.get(event["ticker"], NOTHING)
        more = (n + 1, volume + event["size"], turnover + event["price"] * event["size"])
        states[event["_partition"]].append({**last, event["ticker"]: more})
    return states


def _read(settings: Settings, reader: Reader, stop: threading.Event, pause: float) -> None:
    while not stop.wait(pause):
        began = time.monotonic()
        try:
            rows = metastore.query(settings, QUERY).rows
        except LkError as e:
            reader.errors.append(str(e))
            continue
        state = {str(t): (int(n), int(volume), Decimal(turnover)) for t, n, volume, turnover in rows}
        reader.answers.append(Answer(state, time.monotonic() - began))
