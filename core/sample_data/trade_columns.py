"""The numbers of generated trades, computed for many trades at once.

The price of a ticker depends on the event time alone, so that all seeds trade at the same prices. It wanders: layers of
interpolated noise, each four times as slow and twice as strong as the one before, have the spectrum of a random walk
and need no history. Idea: value noise, K. Perlin, "An Image Synthesizer", 1985.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from core.sample_spec import DISORDER_MS, SampleSpec

_LAYERS = range(12, 28, 2)  # a layer has a new value every 2 ** layer milliseconds: from 4 seconds to 19 hours
_STRONGEST = 0.15  # of the slowest layer; all layers together stay below 0.3, so no price doubles
_PRICES = 0  # the seed of all prices

Unsigned = npt.NDArray[np.uint64]


def trade_columns(
    spec: SampleSpec, numbers: Sequence[int], tickers: int
) -> tuple[list[bool], list[int], list[int], list[int], list[int]]:
    """Whether it is an ask, index of the ticker, price in cents, size, event time: one list each, in that order."""
    index = np.array(numbers, dtype=np.uint64)
    ticker = _tickers(spec.seed, index, tickers)
    sizes = 1 + (_hash(spec.seed, 2, index) % np.uint64(500))
    # Float64 holds milliseconds of this age exactly; the scheduled time is rounded down.
    due = spec.start + np.floor(index.astype(np.float64) * (1_000.0 / spec.rate)).astype(np.int64)
    times = due - _delays(spec, index)
    asks = (_hash(spec.seed, 7, index) & np.uint64(1)).astype(bool)
    cents = _cents(times, ticker)
    return asks.tolist(), ticker.tolist(), cents.tolist(), sizes.tolist(), times.tolist()


def _tickers(seed: int, index: Unsigned, count: int) -> npt.NDArray[np.int64]:
    """Some tickers are traded far more than others: the smaller of two draws."""
    n = np.uint64(count)
    drawn = np.minimum(_hash(seed, 0, index) % n, _hash(seed, 1, index) % n)
    order = np.argsort(_hash(seed, 9, np.arange(count, dtype=np.uint64)), kind="stable")
    picked: npt.NDArray[np.int64] = order[drawn.astype(np.int64)].astype(np.int64)
    return picked


def _cents(times: npt.NDArray[np.int64], tickers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The prices of tickers at times in epoch milliseconds: a base price, and up to 30 % more or less."""
    ticker = tickers.astype(np.uint64)
    base = 2_000 + (_hash(_PRICES, 3, ticker) % np.uint64(38_000)).astype(np.float64)
    drift = np.zeros(len(times))
    for layer in _LAYERS:
        cell = (times >> layer).astype(np.uint64)
        part = (times & ((1 << layer) - 1)).astype(np.float64) / float(1 << layer)
        lane = ticker * np.uint64(64) + np.uint64(layer)
        left, right = (_unit(_hash(_PRICES, 4, (c << np.uint64(12)) ^ lane)) for c in (cell, cell + np.uint64(1)))
        drift += (left + (right - left) * part) * 2.0 ** ((layer - _LAYERS[-1]) / 2)
    cents: npt.NDArray[np.int64] = np.rint(base * (1 + drift * _STRONGEST)).astype(np.int64)
    return cents


def _delays(spec: SampleSpec, index: Unsigned) -> npt.NDArray[np.int64]:
    """Milliseconds by which each event time steps back; a trade is late or out of order, never both."""
    chance = (_unit(_hash(spec.seed, 5, index)) + 1) / 2
    amount = _hash(spec.seed, 6, index)
    late = 1 + (amount % np.uint64(spec.late_by)).astype(np.int64)
    back = 1 + (amount % np.uint64(DISORDER_MS)).astype(np.int64)
    disordered = np.where(chance < spec.late + spec.out_of_order, back, 0)
    delays: npt.NDArray[np.int64] = np.where(chance < spec.late, late, disordered)
    return delays


def _unit(hashed: Unsigned) -> npt.NDArray[np.float64]:
    """From -1 to just below 1."""
    scaled: npt.NDArray[np.float64] = (hashed >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    return scaled


def _hash(seed: int, purpose: int, values: Unsigned) -> Unsigned:
    """SplitMix64 of the values, different for each seed and purpose."""
    salt = np.uint64((seed * 0x9E3779B97F4A7C15 + purpose * 0xD1B54A32D192ED03) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        z = values * np.uint64(0x9E3779B97F4A7C15) + _mixed(np.array([salt], dtype=np.uint64))[0]
        return _mixed(z)


def _mixed(z: Unsigned) -> Unsigned:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
