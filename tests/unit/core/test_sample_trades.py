"""The generator is a pure function of seed and index, and its disorder is what was asked for."""

import json
import time
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from core.errors import Usage
from core.sample_data.trades import DISORDER_MS, TICKERS, Trades, trade, trades

START = 1_700_000_000_000
PLAIN = Trades(seed=7, start=START)
MIXED = Trades(seed=7, start=START, late=0.05, late_by=3_600_000, out_of_order=0.10)


def test_the_same_seed_gives_the_same_bytes_for_ever() -> None:
    assert [t.value for t in trades(PLAIN, 3)] == [
        b'{"type":"bid","ticker":"NVDA","price":77.51,"size":412,"event_time":1700000000000,"id":"7-0"}',
        b'{"type":"bid","ticker":"AMZN","price":381.73,"size":60,"event_time":1700000000001,"id":"7-1"}',
        b'{"type":"ask","ticker":"COST","price":136.39,"size":104,"event_time":1700000000002,"id":"7-2"}',
    ]


def test_any_part_can_be_made_alone() -> None:
    whole = list(trades(MIXED, 10_000))
    assert list(trades(MIXED, 5_000, first=4_321)) == whole[4_321:9_321]
    assert [trade(MIXED, n) for n in (0, 4_095, 4_096, 9_999)] == [whole[n] for n in (0, 4_095, 4_096, 9_999)]


def test_other_seeds_give_other_trades() -> None:
    ours, theirs = (list(trades(Trades(seed=seed, start=START), 1_000)) for seed in (1, 2))
    assert sum(a[2:5] == b[2:5] for a, b in zip(ours, theirs, strict=True)) < 10


def test_a_trade_is_one_json_object_with_two_decimals() -> None:
    for made in trades(MIXED, 2_000):
        event = json.loads(made.value, parse_float=str)
        assert list(event) == ["type", "ticker", "price", "size", "event_time", "id"]
        assert len(event["price"].partition(".")[2]) == 2
        assert Decimal(event["price"]) == made.price > 0
        assert event["ticker"].encode() == made.key
        assert event["type"] in ("bid", "ask")
        assert 1 <= event["size"] <= 500


def test_ids_never_repeat() -> None:
    assert max(Counter(made.id for made in trades(MIXED, 20_000)).values()) == 1


def test_undisturbed_trades_happen_on_schedule() -> None:
    assert [t.event_time - START for t in trades(Trades(seed=1, start=START, rate=4), 5)] == [0, 250, 500, 750, 1000]


def test_late_and_out_of_order_shares_are_kept() -> None:
    delays = [START + made.number - made.event_time for made in trades(MIXED, 100_000)]
    assert min(delays) == 0
    assert max(delays) <= 3_600_000
    late = sum(delay > DISORDER_MS for delay in delays)
    back = sum(0 < delay <= DISORDER_MS for delay in delays)
    assert 4_700 < late < 5_300
    assert 9_600 < back < 10_500
    assert max(delays) > 3_500_000


def test_prices_wander_in_small_steps() -> None:
    one = [made.cents for made in trades(PLAIN, 100_000) if made.ticker == "AAPL"]
    assert len(one) > 1_000
    assert max(abs(b - a) for a, b in pairwise(one)) < 0.01 * one[0]
    assert max(one) - min(one) > 0.005 * one[0]


def test_every_ticker_trades_and_some_much_more() -> None:
    counts = Counter(made.ticker for made in trades(PLAIN, 50_000))
    assert sorted(counts) == sorted(TICKERS)
    assert max(counts.values()) > 20 * min(counts.values())


@pytest.mark.parametrize(
    "wrong", [{"rate": 0}, {"late": -0.1}, {"late": 0.6, "out_of_order": 0.5}, {"late_by": 0}], ids=str
)
def test_impossible_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Usage):
        Trades(seed=1, start=START, **wrong)


def test_making_trades_is_faster_than_kafka_needs() -> None:
    started = time.process_time()
    size = sum(len(made.value) for made in trades(MIXED, 100_000))
    assert size > 9_000_000
    assert time.process_time() - started < 1.0
