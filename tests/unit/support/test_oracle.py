"""The oracle itself is tested with literal records and literal results."""

import gzip
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from infra.project_files import ACCESS_LOG
from tests.support.oracle.view_oracle import Record, decode_record, events, expected, quarantined

GOOD = b'{"type":"bid","ticker":"AAPL","price":12.34,"size":100,"event_time":1763712000999,"id":"7-1"}'
NEWER = b'{"version":2,"side":"ASK","symbol":"AAPL","price":"1.50","size":3,"event_time":1763712004000,"venue":"XNAS"}'


def trade(value: bytes | None, offset: int = 0, key: bytes | None = b"AAPL") -> Record:
    return Record("trades", 0, offset, 0, key, value)


def at(hour: int, minute: int, second: int) -> datetime:
    return datetime(2025, 11, 21, hour, minute, second, tzinfo=UTC)


def test_two_versions_of_a_trade() -> None:
    first, second = events([trade(GOOD), trade(NEWER, 1)])
    assert (first["type"], first["ticker"], first["price"], first["size"]) == ("bid", "AAPL", Decimal("12.34"), 100)
    assert (first["id"], first["venue"]) == ("7-1", None)
    assert (second["type"], second["ticker"], second["price"], second["size"]) == ("ask", "AAPL", Decimal("1.50"), 3)
    assert (second["id"], second["venue"]) == (None, "XNAS")


@pytest.mark.parametrize(
    ("record", "rule"),
    [
        (trade(None), "null_value"),
        (trade(b"x" * 70_000), "too_long"),
        (trade(b"\xff"), "bad_utf8"),
        (trade(GOOD, key=None), "null_key"),
        (trade(b"{"), "not_json"),
        (trade(b"[1]"), "not_json"),
        (trade(GOOD + b"}"), "not_json"),
        (trade(b'{"version":3}'), "unknown_version"),
        (trade(GOOD.replace(b"12.34", b"12.345")), "field_price"),
        (trade(GOOD.replace(b"12.34", b"1e2")), "field_price"),
        (trade(GOOD.replace(b":100", b":0")), "field_size"),
        (trade(GOOD.replace(b"1763712000999", b"1")), "field_event_time"),
        (trade(GOOD.replace(b"12.34", b"99999999.99").replace(b":100", b":1000")), "rule_affordable"),
        (Record("access_log", 0, 0, 0, None, b"GET /"), "no_match"),
        (trade(b"{}", key=None), "null_key,field_type,field_ticker,field_price,field_size,field_event_time"),
        (trade(None, key=None), "null_value,null_key"),
        (trade(GOOD.replace(b"bid", b"bit").replace(b":100", b":0")), "field_type,field_size"),
    ],
)
def test_the_rules_that_a_record_breaks(record: Record, rule: str) -> None:
    assert decode_record(record.topic, record) == rule


def test_trade_stats_by_hand() -> None:
    rows = expected("trade_stats", [trade(GOOD), trade(NEWER, 1)])
    assert sorted(key[1] for key in rows) == [at(7, 59, s) for s in (56, 57, 58, 59)] + [at(8, 0, s) for s in range(5)]
    assert rows["AAPL", at(8, 0, 0)] == {
        "trades": 2,
        "price_sum": Decimal("13.84"),
        "price_min": Decimal("1.50"),
        "price_max": Decimal("12.34"),
        "price_avg": Decimal("6.920000"),
    }
    assert rows["AAPL", at(8, 0, 1)]["trades"] == 1


def test_trades_by_day_by_hand() -> None:
    rows = expected("trades_by_day", [trade(NEWER, 1), trade(GOOD)])
    assert rows == {
        ("AAPL", at(0, 0, 0)): {
            "trades": 2,
            "volume": Decimal(103),
            "turnover": Decimal("1238.50"),
            "price_low": Decimal("1.50"),
            "price_high": Decimal("12.34"),
            "price_last": Decimal("1.50"),
            "price_mean": Decimal("12.024272"),
        }
    }


def test_the_real_file_has_one_bad_line() -> None:
    lines = gzip.decompress(ACCESS_LOG.read_bytes()).splitlines()
    log = [Record("access_log", 0, n, 0, None, line) for n, line in enumerate(lines)]
    assert quarantined(log) == [(0, 8898, "no_match")]
    hours, paths = expected("traffic_by_hour", log), expected("traffic_by_path", log)
    assert sum(row["requests"] for row in hours.values()) == 9_999
    assert sum(row["requests"] - row["sized"] for row in hours.values()) == 669
    assert sum(row["bytes"] for row in hours.values()) == Decimal(2_747_282_505)
    assert paths[("/",)]["requests"] == 575
    assert paths[("/favicon.ico",)]["errors"] == 0
