"""Prices of generated trades depend on the ticker and the event time alone, and no price doubles within a day."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from core.sample_data.trades import TICKERS, trades
from core.sample_spec import SampleRecord, SampleSpec

DAY_MS = 86_400_000
EACH = 600  # trades of one seed in a day
Generator = Callable[[SampleSpec, Sequence[int]], Iterator[SampleRecord]]


def day_of_trades(generator: Generator, day: int, seeds: Iterable[int]) -> list[tuple[str, int, int]]:
    """Ticker, event time and cents of trades of several seeds that are spread over one day."""
    specs = [SampleSpec(seed, day * DAY_MS, rate=EACH * 1_000 / DAY_MS) for seed in seeds]
    values = [json.loads(record.value or b"", parse_float=str) for s in specs for record in generator(s, range(EACH))]
    return [(trade["ticker"], trade["event_time"], int(trade["price"].replace(".", ""))) for trade in values]


def doubled(traded: Iterable[tuple[str, int, int]]) -> set[str]:
    """The tickers whose highest price is more than twice the lowest, as in the check of trades_by_day."""
    prices = defaultdict(list)
    for ticker, _, cents in traded:
        prices[ticker].append(cents)
    return {ticker for ticker, all_cents in prices.items() if max(all_cents) > 2 * min(all_cents)}


def a_level_for_each_seed(spec: SampleSpec, numbers: Sequence[int]) -> Iterator[SampleRecord]:
    """A planted defect: prices start at another level for each seed."""
    for record in trades(spec, numbers):
        trade = json.loads(record.value or b"", parse_float=str)
        level = 20 + (spec.seed * 7_919) % 380
        yield record._replace(value=json.dumps(trade | {"price": f"{level}.00"}).encode())


@settings(max_examples=20, deadline=None)
@given(
    day=st.integers(0, 40_000),
    seeds=st.lists(st.integers(0, 2**63 - 1), min_size=2, max_size=12, unique=True),
)
def test_no_price_doubles_within_a_day_whatever_the_seeds(day: int, seeds: list[int]) -> None:
    assert doubled(day_of_trades(trades, day, seeds)) == set()


def test_every_ticker_of_many_seeds_is_in_the_day_that_is_checked() -> None:
    traded = day_of_trades(trades, 20_000, range(40))
    assert {ticker for ticker, _, _ in traded} == set(TICKERS)
    assert doubled(traded) == set()
    assert max(at for _, at, _ in traded) - min(at for _, at, _ in traded) > 0.99 * DAY_MS


def test_prices_at_another_level_for_each_seed_are_reported() -> None:
    assert len(doubled(day_of_trades(a_level_for_each_seed, 20_000, range(6, 12)))) > 20


def test_a_price_is_continuous_over_event_time_whatever_seed_sent_the_trade() -> None:
    start = 1_700_000_000_000
    specs = [
        SampleSpec(6, start, late=0.05, late_by=60_000, out_of_order=0.1),
        SampleSpec(7, start + 9_000, late=0.05, late_by=60_000, out_of_order=0.1),
        SampleSpec(2**40, start + 18_000, rate=500.0),
    ]
    prices: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
    for spec in specs:
        for record in trades(spec, range(10_000)):
            cents = int(json.loads(record.value or b"", parse_float=str)["price"].replace(".", ""))
            prices[record.key or b""].append((record.at, cents))
    for traded in prices.values():
        traded.sort()
        steps = [(later - at, abs(b - a), a) for (at, a), (later, b) in pairwise(traded)]
        assert all(step <= 1 + cents * 0.01 * max(1, gap / 1_000) for gap, step, cents in steps)
    same_moment: dict[tuple[bytes, int], set[int]] = defaultdict(set)
    for ticker, traded in prices.items():
        for at, cents in traded:
            same_moment[ticker, at].add(cents)
    assert len(same_moment) < 30_000  # some moments have trades of two seeds
    assert all(len(cents) == 1 for cents in same_moment.values())
