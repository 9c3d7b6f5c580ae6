"""Generated trades are a pure function of spec and number. Their disorder follows the spec."""

import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from core.sample_data.records import records
from core.sample_data.trades import TICKERS, trades
from core.sample_spec import DISORDER_MS, SampleRecord, SampleSpec
from infra.definitions.definition_files import load
from infra.settings import Settings

TOPIC = load(Settings()).topic("trades")
START = 1_700_000_000_000
PLAIN = SampleSpec(seed=7, start=START)
MIXED = SampleSpec(seed=7, start=START, late=0.05, late_by=3_600_000, out_of_order=0.10)


def generated(spec: SampleSpec, count: int, first: int = 0) -> list[SampleRecord]:
    return list(records(TOPIC, spec, count, first))


def event(record: SampleRecord) -> dict[str, Any]:
    """The fields of a trade. The price is text."""
    assert record.value is not None
    fields: dict[str, Any] = json.loads(record.value, parse_float=str)
    return fields


def cents(record: SampleRecord) -> int:
    return int(event(record)["price"].replace(".", ""))


def test_the_same_seed_gives_the_same_bytes_for_ever() -> None:
    assert [record.value for record in generated(PLAIN, 3)] == [
        b'{"type":"bid","ticker":"NVDA","price":145.07,"size":412,"event_time":1700000000000,"id":"7-0"}',
        b'{"type":"bid","ticker":"AMZN","price":398.09,"size":60,"event_time":1700000000001,"id":"7-1"}',
        b'{"type":"ask","ticker":"COST","price":276.49,"size":104,"event_time":1700000000002,"id":"7-2"}',
    ]
    content = b"".join((record.key or b"") + (record.value or b"") for record in generated(MIXED, 10_000, 100))
    assert hashlib.sha256(content).hexdigest().startswith("bd5589a07f8efee2")


def test_any_part_can_be_generated_alone() -> None:
    all_trades = generated(MIXED, 10_000)
    assert generated(MIXED, 5_000, first=4_321) == all_trades[4_321:9_321]
    assert list(trades(MIXED, [9_999, 0, 4_096, 4_095])) == [all_trades[n] for n in (9_999, 0, 4_096, 4_095)]


def test_other_seeds_give_other_trades() -> None:
    first, second = (list(map(event, generated(SampleSpec(seed, START), 1_000))) for seed in (1, 2))
    names = ("ticker", "price", "size")
    assert sum([a[n] for n in names] == [b[n] for n in names] for a, b in zip(first, second, strict=True)) < 10


def test_a_trade_is_one_json_object_with_two_decimals() -> None:
    for record in generated(MIXED, 2_000):
        fields = event(record)
        assert list(fields) == ["type", "ticker", "price", "size", "event_time", "id"]
        assert len(fields["price"].partition(".")[2]) == 2
        assert cents(record) > 0
        assert fields["ticker"].encode() == record.key
        assert fields["event_time"] == record.at
        assert fields["type"] in ("bid", "ask")
        assert 1 <= fields["size"] <= 500


def test_ids_never_repeat() -> None:
    assert max(Counter(event(record)["id"] for record in generated(MIXED, 20_000)).values()) == 1


def test_undisturbed_trades_happen_on_schedule() -> None:
    assert [record.at - START for record in generated(SampleSpec(1, START, rate=4), 5)] == [0, 250, 500, 750, 1000]


def test_late_and_out_of_order_shares_are_kept() -> None:
    delays = [START + number - record.at for number, record in enumerate(generated(MIXED, 100_000))]
    assert min(delays) == 0
    assert max(delays) <= 3_600_000
    late = sum(delay > DISORDER_MS for delay in delays)
    back = sum(0 < delay <= DISORDER_MS for delay in delays)
    assert 4_700 < late < 5_300
    assert 9_600 < back < 10_500
    assert max(delays) > 3_500_000


def test_bad_and_repeated_trades_are_generated_like_those_of_every_topic() -> None:
    spec = SampleSpec(seed=1, start=START, late=0.05, out_of_order=0.1, duplicate=0.1, bad=0.1)
    mixed, good = generated(spec, 2_000), generated(SampleSpec(1, START, late=0.05, out_of_order=0.1), 2_000)
    bad = [record for record in mixed if (record.value or b"").startswith(b"\xff")]
    assert len(bad) in range(150, 250)
    assert bad[0].value == b'\xff{"type":"ask","ticke'
    assert {record for record in mixed if record not in bad} <= set(good)
    assert len(mixed) - len(set(mixed)) in range(150, 250)
    assert generated(spec, 300, first=900) == mixed[900:1_200]


def test_prices_wander_in_small_steps() -> None:
    prices = [cents(record) for record in generated(PLAIN, 100_000) if record.key == b"AAPL"]
    assert len(prices) > 1_000
    assert max(abs(b - a) for a, b in pairwise(prices)) < 0.01 * prices[0]
    assert max(prices) - min(prices) > 0.005 * prices[0]


def test_every_ticker_trades_and_some_much_more() -> None:
    counts = Counter((record.key or b"").decode() for record in generated(PLAIN, 50_000))
    assert sorted(counts) == sorted(TICKERS)
    assert max(counts.values()) > 20 * min(counts.values())


def test_generating_trades_costs_less_than_reading_and_writing_their_json() -> None:
    """The least of five, by this thread's CPU time: other threads and processes cost the rest."""

    def cost(action: Callable[[], object]) -> float:
        began = time.thread_time()
        action()
        return time.thread_time() - began

    values = [record.value or b"" for record in generated(MIXED, 20_000)]
    assert sum(len(value) for value in values) > 1_800_000
    pairs = [
        (
            cost(lambda: deque(generated(MIXED, 20_000), maxlen=0)),
            cost(lambda: [json.dumps(json.loads(value)) for value in values]),
        )
        for _ in range(5)
    ]
    assert min(generating for generating, _ in pairs) < min(parsing for _, parsing in pairs)
