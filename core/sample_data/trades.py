"""Made-up stock trades: a pure function of a seed and an index, so that any part can be made again.

Prices wander: several layers of interpolated noise, each layer twice as slow and √2 as strong, give the spectrum of a
random walk and still need no history. Idea: value noise, K. Perlin, "An Image Synthesizer", 1985.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.errors import Usage

# fmt: off
TICKERS = (
    "AAPL", "ABBV", "ADBE", "AMD", "AMZN", "AVGO", "BAC", "COST", "CRM", "CSCO", "CVX",
    "DIS", "GOOG", "HD", "IBM", "INTC", "JNJ", "JPM", "KO", "MA", "MCD", "META",
    "MRK", "MSFT", "NFLX", "NKE", "NVDA", "ORCL", "PEP", "TSLA", "V", "WMT",
)
# fmt: on
DISORDER_MS = 3_000  # an out-of-order trade steps back by at most this much
_BLOCK = 4_096
_LAYERS = range(6, 22, 2)

Whole = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Trades:
    """What trades to make. ``start`` is epoch milliseconds; trade n happens n / ``rate`` seconds later.

    A share ``late`` of them claims a time up to ``late_by`` milliseconds earlier, a share ``out_of_order`` a time up
    to DISORDER_MS earlier. Raises Usage for impossible numbers.
    """

    seed: int
    start: int
    rate: float = 1_000.0
    late: float = 0.0
    late_by: int = 3_600_000
    out_of_order: float = 0.0

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise Usage(f"a rate of {self.rate} trades a second is impossible", fix="give a rate above 0")
        if min(self.late, self.out_of_order) < 0 or self.late + self.out_of_order > 1:
            raise Usage(
                f"shares of {self.late} late and {self.out_of_order} out of order are impossible",
                fix="give shares from 0 to 1 that together are at most 1",
            )
        if self.late_by < 1:
            raise Usage(f"late by up to {self.late_by} ms is impossible", fix="give at least 1 ms")


class Trade(NamedTuple):
    """One trade: ``number`` is its index, ``side`` bid or ask, the price whole cents, ``event_time`` milliseconds."""

    number: int
    side: str
    ticker: str
    cents: int
    size: int
    event_time: int
    id: str

    @property
    def key(self) -> bytes:
        """The record key: the ticker."""
        return self.ticker.encode()

    @property
    def value(self) -> bytes:
        """The record value: JSON whose price has exactly two decimals."""
        return (
            f'{{"type":"{self.side}","ticker":"{self.ticker}",'
            f'"price":{self.cents // 100}.{self.cents % 100:02d},"size":{self.size},'
            f'"event_time":{self.event_time},"id":"{self.id}"}}'
        ).encode()

    @property
    def price(self) -> Decimal:
        """The price, exactly."""
        return Decimal(self.cents).scaleb(-2)


def trade(spec: Trades, index: int) -> Trade:
    """The trade with this index; depends on nothing else."""
    return next(trades(spec, 1, index))


def trades(spec: Trades, count: int, first: int = 0) -> Iterator[Trade]:
    """``count`` trades from index ``first``, in order of their indexes."""
    for start in range(first, first + count, _BLOCK):
        yield from _block(spec, start, min(_BLOCK, first + count - start))


def _block(spec: Trades, first: int, count: int) -> Iterator[Trade]:
    index = np.arange(first, first + count, dtype=np.uint64)
    which = _tickers(spec.seed, index)
    cents = _cents(spec.seed, index, which)
    sizes = 1 + (_hash(spec.seed, 2, index) % np.uint64(500))
    # Float64 holds milliseconds of this age exactly; the scheduled time is rounded down.
    due = spec.start + np.floor(index.astype(np.float64) * (1_000.0 / spec.rate)).astype(np.int64)
    times = due - _delays(spec, index)
    asks = (_hash(spec.seed, 7, index) & np.uint64(1)).astype(bool)
    columns = zip(
        index.tolist(), asks.tolist(), which.tolist(), cents.tolist(), sizes.tolist(), times.tolist(), strict=True
    )
    for n, ask, ticker, price, size, at in columns:
        yield Trade(n, "ask" if ask else "bid", TICKERS[ticker], price, size, at, f"{spec.seed}-{n}")


def _tickers(seed: int, index: Whole) -> npt.NDArray[np.int64]:
    """Some tickers are traded far more than others: the smaller of two draws."""
    n = np.uint64(len(TICKERS))
    drawn = np.minimum(_hash(seed, 0, index) % n, _hash(seed, 1, index) % n)
    order = np.argsort(_hash(seed, 9, np.arange(len(TICKERS), dtype=np.uint64)), kind="stable")
    picked: npt.NDArray[np.int64] = order[drawn.astype(np.int64)].astype(np.int64)
    return picked


def _cents(seed: int, index: Whole, which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    ticker = which.astype(np.uint64)
    base = 2_000 + (_hash(seed, 3, ticker) % np.uint64(38_000)).astype(np.float64)
    drift = np.zeros(len(index))
    for layer in _LAYERS:
        shift = np.uint64(layer)
        cell = index >> shift
        part = (index & ((np.uint64(1) << shift) - np.uint64(1))).astype(np.float64) / float(1 << layer)
        lane = ticker * np.uint64(64) + shift
        left, right = (_unit(_hash(seed, 4, (c << np.uint64(12)) ^ lane)) for c in (cell, cell + np.uint64(1)))
        drift += (left + (right - left) * part) * 2.0 ** (layer / 2 - 14)
    cents: npt.NDArray[np.int64] = np.maximum(1, np.rint(base * (1 + drift * 0.5))).astype(np.int64)
    return cents


def _delays(spec: Trades, index: Whole) -> npt.NDArray[np.int64]:
    chance = (_unit(_hash(spec.seed, 5, index)) + 1) / 2
    amount = _hash(spec.seed, 6, index)
    late = 1 + (amount % np.uint64(spec.late_by)).astype(np.int64)
    back = 1 + (amount % np.uint64(DISORDER_MS)).astype(np.int64)
    disordered = np.where(chance < spec.late + spec.out_of_order, back, 0)
    delays: npt.NDArray[np.int64] = np.where(chance < spec.late, late, disordered)
    return delays


def _unit(hashed: Whole) -> npt.NDArray[np.float64]:
    """From -1 to just below 1."""
    scaled: npt.NDArray[np.float64] = (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    return scaled


def _hash(seed: int, purpose: int, values: Whole) -> Whole:
    """SplitMix64 of the values, separated by seed and purpose."""
    salt = np.uint64((seed * 0x9E3779B97F4A7C15 + purpose * 0xD1B54A32D192ED03) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        z = values * np.uint64(0x9E3779B97F4A7C15) + _mixed(np.array([salt], dtype=np.uint64))[0]
        return _mixed(z)


def _mixed(z: Whole) -> Whole:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
