"""The expected answers of the demo, counted in plain Python while sending, without Kafka, Spark, Delta or Trino."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from core.sample_spec import DISORDER_MS, SampleRecord, SampleSpec

LINES, QUARANTINED, REQUESTS, BYTES = 10_000, 1, 9_999, 2_747_282_505  # facts of the committed access log
_SIZE_MS, _HOP_MS, _DAY_MS = 5_000, 1_000, 86_400_000
_LINE = re.compile(
    r'(\S+) (\S+) (\S+) \[(\d\d/\w{3}/\d{4}:\d\d):\d\d:\d\d \+0000\] "([^"]*)" (\d)\d\d (\d+|-) "([^"]*)" "([^"]*)"'
)

RowCells = tuple[object, ...]
Table = dict[RowCells, RowCells]


@dataclass(frozen=True)
class NumberCheck:
    """One number, or all rows of a view: the expected and the actual text."""

    what: str
    expected: str
    actual: str

    @property
    def ok(self) -> bool:
        """Whether both are equal."""
        return self.expected == self.actual


@dataclass
class TickerSums:
    """Sums of some trades: count, shares, cents, lowest, highest, and the last by event time and sending order."""

    count: int = 0
    size: int = 0
    cents: int = 0
    low: int = 10**12
    high: int = 0
    last: tuple[int, int, int] = (-1, -1, 0)

    def add(self, cents: int, size: int, event_time: int, number: int) -> None:
        self.count += 1
        self.size += size
        self.cents += cents
        self.low = min(self.low, cents)
        self.high = max(self.high, cents)
        self.last = max(self.last, (event_time, number, cents))


@dataclass
class Tally:
    """Counts trades from the bytes that the producer sends."""

    count: int = 0
    late: int = 0
    out_of_order: int = 0
    days: dict[tuple[str, int], TickerSums] = field(default_factory=lambda: defaultdict(TickerSums))
    windows: dict[tuple[str, int], TickerSums] = field(default_factory=lambda: defaultdict(TickerSums))

    def watch(self, trades: Iterable[SampleRecord], spec: SampleSpec) -> Iterator[SampleRecord]:
        """Counts trades and passes them on. The first has number 0 of the spec; all are valid."""
        for number, record in enumerate(trades):
            trade = json.loads(record.value or b"", parse_float=_cents)
            behind = spec.due(number) - trade["event_time"]
            self.count += 1
            self.late += behind > DISORDER_MS
            self.out_of_order += 0 < behind <= DISORDER_MS
            self._add(trade, number)
            yield record

    def _add(self, trade: dict[str, Any], number: int) -> None:
        ticker, at = trade["ticker"], trade["event_time"]
        self.days[ticker, at - at % _DAY_MS].add(trade["price"], trade["size"], at, number)
        last_start = at - at % _HOP_MS
        for start in range(last_start, last_start - _SIZE_MS, -_HOP_MS):
            self.windows[ticker, start].add(trade["price"], trade["size"], at, number)

    def by_day(self) -> Table:
        """(ticker, day) -> trades, volume, low, high, last price."""
        return {
            (ticker, moment(day)): (s.count, s.size, money(s.low), money(s.high), money(s.last[2]))
            for (ticker, day), s in self.days.items()
        }

    def by_window(self) -> Table:
        """(ticker, window) -> trades, sum, lowest and highest of the prices."""
        return {
            (ticker, moment(start)): (s.count, money(s.cents), money(s.low), money(s.high))
            for (ticker, start), s in self.windows.items()
        }


def traffic_by_hour(path: Path) -> Table:
    """(hour, status class) -> requests, bytes, from the valid lines of the access log."""
    requests: Counter[RowCells] = Counter()
    sizes: Counter[RowCells] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            match = _LINE.fullmatch(line.rstrip("\n"))
            if match:
                hour = datetime.strptime(match[4], "%d/%b/%Y:%H").replace(tzinfo=UTC)
                key = (hour, f"{match[6]}xx")
                requests[key] += 1
                sizes[key] += 0 if match[7] == "-" else int(match[7])
    return {key: (count, sizes[key]) for key, count in requests.items()}


def same_rows(what: str, expected: Table, actual: Table) -> NumberCheck:
    """Compares all rows of a view; the texts show the first difference."""
    if expected == actual:
        return NumberCheck(what, f"{len(expected):,} rows", f"{len(actual):,} rows")
    different = [key for key in expected.keys() | actual.keys() if expected.get(key) != actual.get(key)]
    key = min(different, key=str)
    return NumberCheck(
        what,
        f"{len(expected):,} rows; at {_text(key)}: {_text(expected.get(key))}",
        f"{len(actual):,} rows, {len(different):,} differ; at {_text(key)}: {_text(actual.get(key))}",
    )


def same(what: str, expected: int, actual: object) -> NumberCheck:
    """Compares one whole number."""
    return NumberCheck(what, f"{expected:,}", f"{actual:,}" if isinstance(actual, int | Decimal) else str(actual))


def wrong_numbers(checks: Iterable[NumberCheck]) -> tuple[NumberCheck, ...]:
    """The checks whose expected and actual texts differ."""
    return tuple(check for check in checks if not check.ok)


def money(cents: int) -> Decimal:
    """Cents as the decimal of the views."""
    return Decimal(cents).scaleb(-2)


def moment(milliseconds: int) -> datetime:
    """Epoch milliseconds as a UTC time, as Trino returns it."""
    return datetime.fromtimestamp(milliseconds // 1_000, UTC)


def _cents(price: str) -> int:
    """The cents of a price with two decimals."""
    return int(price.replace(".", ""))


def _text(row: RowCells | None) -> str:
    return "nothing" if row is None else " ".join(str(value) for value in row)
