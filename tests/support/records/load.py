"""Records of the fault tests: trades of both versions, requests, late events, and every kind of invalid record."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tests.support.records.kafka_log import Sent

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)  # fixed, so that a seed always gives the same records
DAY_MS = 86_400_000
TICKERS = ("ACME", "BYTE", "CORE", "DUST", "ECHO", "FLUX")
PATHS = ("/", "/a", "/a?x=1", "/b/c", "/img/1.png")


def millis(at: datetime) -> int:
    """Epoch milliseconds."""
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def trade(rng: random.Random, number: int, at: int | None = None) -> Sent:
    """One valid trade within ten minutes of noon. Versions 1 and 2 are interleaved."""
    ticker = rng.choice(TICKERS)
    price = f"{rng.randrange(1, 20_000)}.{rng.randrange(100):02d}"
    size, when = rng.randrange(1, 500), millis(NOON) + rng.randrange(600_000) if at is None else at
    if number % 3 == 0:
        text = f'{{"version":2,"side":"BID","symbol":"{ticker}","price":{price},"size":{size},"event_time":{when}}}'
    else:
        text = (
            f'{{"type":"trade","ticker":"{ticker}","price":{price},"size":{size},"event_time":{when},"id":"t{number}"}}'
        )
    return Sent("trades", ticker.encode(), text.encode())


def request(rng: random.Random, number: int) -> Sent:
    """One valid line of the access log, within three hours of noon."""
    at = NOON + timedelta(seconds=rng.randrange(10_800))
    size = "-" if rng.randrange(5) == 0 else str(rng.randrange(100_000))
    status = rng.choice((200, 200, 200, 304, 404, 500))
    line = (
        f'10.0.0.{rng.randrange(9)} - - [{at:%d/%b/%Y:%H:%M:%S +0000}] "GET {rng.choice(PATHS)} HTTP/1.1" '
        f'{status} {size} "-" "client {number}"'
    )
    return Sent("access_log", None, line.encode())


def mixed(seed: int, count: int) -> list[Sent]:
    """Valid events of both topics, three trades per request. One record in twenty is a trade 1 to 40 days late."""
    rng = random.Random(seed)
    return list(_mixed(rng, count))


def _mixed(rng: random.Random, count: int) -> Iterator[Sent]:
    for number in range(count):
        if number % 4 == 3:
            yield request(rng, number)
        elif number % 20 == 0:
            yield trade(rng, number, millis(NOON) - rng.randrange(1, 41) * DAY_MS + rng.randrange(60_000))
        else:
            yield trade(rng, number)


def poison() -> list[tuple[Sent, str]]:
    """One record of every invalid kind, with the rule that it breaks."""
    return [*_bad_trades(), *_bad_requests()]


def _v1(**changed: object) -> bytes:
    values: dict[str, object] = {
        "type": "bid",
        "ticker": "ACME",
        "price": 10,
        "size": 1,
        "event_time": millis(NOON),
        "id": "p",
    }
    return json.dumps(values | changed).encode()


def _raw(field: str, text: str) -> bytes:
    """A trade with a number in literal text that json.dumps would not write."""
    return _v1(**{field: 424242}).replace(b"424242", text.encode())


def _bad_trades() -> list[tuple[Sent, str]]:
    cases: list[tuple[bytes | None, str]] = [
        (b'{"type":"bid","ticker":', "not_json"),
        (b"", "not_json"),
        (b"[1, 2]", "not_json"),
        (_v1() + b" {}", "not_json"),
        (b'{"type":"bid","ticker":"AC\xff\xfeME"}', "bad_utf8"),
        (None, "null_value"),
        (_v1(id="x" * 1_048_576), "too_long"),
        (_v1(version=3), "unknown_version"),
        (_v1(type=7), "field_type"),
        (_v1(ticker=["ACME"]), "field_ticker"),
        (_v1(ticker=None), "field_ticker"),
        (_v1(price="ten"), "field_price"),
        (_raw("price", "10.123"), "field_price"),
        (_raw("price", "0.00"), "field_price"),
        (_raw("price", "123456789.00"), "field_price"),
        (_v1(size=1.5), "field_size"),
        (_v1(size=0), "field_size"),
        (_v1(size=1_000_000_001), "field_size"),
        (_raw("size", "9" * 30), "field_size"),
        (_v1(event_time="noon"), "field_event_time"),
        (_v1(event_time=-1), "field_event_time"),
        (_v1(event_time=10**17), "field_event_time"),
        (_v1(price=99_999, size=1_000_000), "rule_affordable"),
    ]
    bad_trades = [(Sent("trades", b"ACME", value, _headers(rule, n)), rule) for n, (value, rule) in enumerate(cases)]
    return [*bad_trades, (Sent("trades", None, _v1(), _headers("null_key", len(cases))), "null_key")]


def _bad_requests() -> list[tuple[Sent, str]]:
    line = request(random.Random(0), 0).value or b""
    status = b'10.0.0.1 - - [14/Mar/2026:12:00:00 +0000] "GET / HTTP/1.1" 999 5 "-" "c"'
    cases: list[tuple[bytes | None, str]] = [
        (line[:-1], "no_match"),
        (b"", "no_match"),
        (line + b"\nsecond line", "no_match"),
        (None, "null_value"),
        (b"\x80" + line, "bad_utf8"),
        (line + b"x" * 1_048_576, "too_long"),
        (line.replace(b"14/Mar/", b"32/Mar/"), "field_time"),
        (line.replace(b"/2026:", b"/1969:"), "field_time"),
        (status, "field_status"),
    ]
    return [(Sent("access_log", None, value, _headers(rule, n)), rule) for n, (value, rule) in enumerate(cases)]


def _headers(rule: str, number: int) -> tuple[tuple[str, bytes | None], ...]:
    return (("kind", rule.encode()), ("number", str(number).encode()), ("nothing", None))
