"""The oracle: the expected rows of each view, in plain Python that shares no code with the project.

``decode_record`` decodes one record. ``VIEWS[name]`` turns events into ``{key: {column: value}}``. ``expected`` does
both. Times are aware datetimes in UTC. Money and sums are Decimal. Keys are tuples in the order of the key columns.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any, NamedTuple

Event = dict[str, Any]
Rows = dict[tuple[Any, ...], dict[str, Any]]
Groups = defaultdict[tuple[Any, ...], list[Event]]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_BYTES = 65_536


class Record(NamedTuple):
    """A Kafka record and its position."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Bad(Exception):
    """Raised with the name of the rule that a record breaks."""


def moment(ms: int) -> datetime:
    """Epoch milliseconds as an aware datetime."""
    return EPOCH + timedelta(milliseconds=ms)


@lru_cache(maxsize=20_000)
def decode_record(topic: str, record: Record) -> Event | str:
    """The event, or the broken rules joined by commas. Cached, because tests decode the same records many times."""
    event: Event = {}
    broken = _bytes(topic, record)
    if not set(broken) - {"null_key"}:
        text = (record.value or b"").decode()
        event, broken_fields = _trade(text) if topic == "trades" else _request(text)
        broken += broken_fields
    if broken:
        return ",".join(broken)
    return {**event, "_topic": record.topic, "_partition": record.partition, "_offset": record.offset}


def events(records: Iterable[Record]) -> list[Event]:
    """The events of the valid records."""
    return [event for record in records if isinstance(event := decode_record(record.topic, record), dict)]


def quarantined(records: Iterable[Record]) -> list[tuple[int, int, str]]:
    """Partition, offset and broken rules of every invalid record, sorted by position."""
    outcomes = ((r.partition, r.offset, decode_record(r.topic, r)) for r in records)
    return sorted((partition, offset, rule) for partition, offset, rule in outcomes if isinstance(rule, str))


def expected(view: str, records: Iterable[Record]) -> Rows:
    """The rows of a view over exactly these records. Records of other topics are ignored."""
    topic = "trades" if view.startswith("trade") else "access_log"
    return VIEWS[view](events(r for r in records if r.topic == topic))


def _bytes(topic: str, record: Record) -> list[str]:
    broken = ["null_value"] if record.value is None else []
    value = record.value or b""
    if len(value) > MAX_BYTES:
        broken.append("too_long")
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        broken.append("bad_utf8")
    if topic == "trades" and record.key is None:
        broken.append("null_key")
    return broken


def _trade(text: str) -> tuple[Event, list[str]]:
    try:
        fields = _object(text)
    except Bad as e:
        return {}, [str(e)]
    version = fields.get("version")
    version = "1" if version is None else version
    if version not in ("1", "2"):
        return {}, ["unknown_version"]
    if version == "2":
        side = fields.get("side")
        fields["type"] = None if side is None else side.lower()
        fields["ticker"] = fields.get("symbol")
        fields["id"] = None
    else:
        fields["venue"] = None
    event, broken = _fields(
        type=lambda: _match("type", fields, r"bid|ask|trade"),
        ticker=lambda: _match("ticker", fields, r"[A-Z][A-Z0-9.]{0,11}"),
        price=lambda: _price(_match("price", fields, r"-?[0-9]{1,8}(\.[0-9]{1,2})?")),
        size=lambda: _between("size", int(_match("size", fields, r"-?[0-9]{1,18}")), 1, 1_000_000_000),
        event_time=lambda: _time("event_time", int(_match("event_time", fields, r"-?[0-9]{1,18}"))),
        id=lambda: fields.get("id"),
        venue=lambda: None if fields.get("venue") is None else _match("venue", fields, r"[A-Z]{4}"),
    )
    if {"price", "size"} <= event.keys() and event["price"] * event["size"] > 10_000_000_000:
        broken.append("rule_affordable")
    return event, broken


def _fields(**readers: Callable[[], Any]) -> tuple[Event, list[str]]:
    """The fields that can be read, and the broken rules of the other fields."""
    event, broken = Event(), list[str]()
    for name, read in readers.items():
        try:
            event[name] = read()
        except Bad as e:
            broken.append(str(e))
    return event, broken


def _price(text: str) -> Decimal:
    _require("price", Decimal(text) >= Decimal("0.01"))
    return Decimal(text)


def _between(field: str, value: int, least: int, most: int) -> int:
    _require(field, least <= value <= most)
    return value


def _object(text: str) -> dict[str, str | None]:
    """The members of a JSON object as text. Numbers keep their literal form."""
    try:
        document = json.loads(
            text, parse_float=str, parse_int=str, parse_constant=_no_constant, object_pairs_hook=_each_once
        )
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # UnicodeEncodeError, which a lone surrogate raises, is a ValueError
        raise Bad("not_json") from None
    if not isinstance(document, dict):
        raise Bad("not_json")
    return {name: v if v is None or isinstance(v, str) else json.dumps(v) for name, v in document.items()}


def _each_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(members) != len(dict(members)):
        raise ValueError("a name is there twice")
    return dict(members)


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _match(field: str, fields: dict[str, str | None], pattern: str) -> str:
    text = fields.get(field)
    if text is None or not re.fullmatch(pattern, text):
        raise Bad(f"field_{field}")
    return text


def _require(field: str, holds: bool) -> None:
    if not holds:
        raise Bad(f"field_{field}")


def _time(field: str, ms: int) -> datetime:
    _require(field, 31_536_000_000 <= ms < 7_258_118_400_000)
    return moment(ms)


_WORD, _ESCAPED = r"([^ \t\n\x0b\f\r]+)", r"\\[^\n\r\x85\u2028\u2029]"
_LINE = re.compile(
    rf'{_WORD} {_WORD} {_WORD} \[([^\]]+)\] "([A-Z]+) ((?:[^"\\ ]|{_ESCAPED})*) (HTTP/[0-9.]+)" ([0-9]{{3}}) ([0-9]+|-)'
    rf' "((?:[^"\\]|{_ESCAPED})*)" "((?:[^"\\]|{_ESCAPED})*)"'
)
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_LOG_TIME = re.compile(rf"[0-9]{{2}}/({_MONTHS})/[0-9]{{4}}(:[0-9]{{2}}){{3}} [+-][0-9]{{4}}")


def _request(line: str) -> tuple[Event, list[str]]:
    """The fields that the views use, from one line of the combined log format."""
    match = _LINE.fullmatch(line)
    if not match or "\x01" in line:
        return {}, ["no_match"]
    size = None if match[9] == "-" else int(match[9])
    return _fields(
        event_time=lambda: _log_time(match[4]),
        status=lambda: _between("status", int(match[8]), 100, 599),
        client=lambda: match[1],
        path=lambda: match[6],
        bytes=lambda: size,
    )


def _log_time(text: str) -> datetime:
    if not _LOG_TIME.fullmatch(text):
        raise Bad("field_time")
    try:
        at = datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")
    except ValueError:
        raise Bad("field_time") from None
    return _time("time", (at - EPOCH) // timedelta(milliseconds=1))


def trade_stats(trades: Iterable[Event]) -> Rows:
    """Sliding windows of five seconds: each trade is in the five windows that start up to its own second."""
    windows: Groups = defaultdict(list)
    for trade in trades:
        second = trade["event_time"].replace(microsecond=0)
        for back in range(5):
            windows[trade["ticker"], second - timedelta(seconds=back)].append(trade)
    return {key: _stats([t["price"] for t in inside]) for key, inside in windows.items()}


def _stats(prices: list[Decimal]) -> dict[str, Any]:
    return {
        "trades": len(prices),
        "price_sum": sum(prices, Decimal(0)),
        "price_min": min(prices),
        "price_max": max(prices),
        "price_avg": _ratio(sum(prices, Decimal(0)), len(prices), 6),
    }


def trades_by_day(trades: Iterable[Event]) -> Rows:
    """Rows per stock and day. The last price is the one with the greatest (event time, topic, partition, offset)."""
    days: Groups = defaultdict(list)
    for trade in trades:
        days[trade["ticker"], trade["event_time"].replace(hour=0, minute=0, second=0, microsecond=0)].append(trade)
    return {key: _day(inside) for key, inside in days.items()}


def _day(trades: list[Event]) -> dict[str, Any]:
    volume = sum(t["size"] for t in trades)
    turnover = sum((t["price"] * t["size"] for t in trades), Decimal(0))
    last = max(trades, key=lambda t: (t["event_time"], t["_topic"], t["_partition"], t["_offset"]))
    return {
        "trades": len(trades),
        "volume": Decimal(volume),
        "turnover": turnover,
        "price_low": min(t["price"] for t in trades),
        "price_high": max(t["price"] for t in trades),
        "price_last": last["price"],
        "price_mean": _ratio(turnover, volume, 6),
    }


def traffic_by_hour(requests: Iterable[Event]) -> Rows:
    """Rows per status class and hour. The mean is over the requests that have a size."""
    hours: Groups = defaultdict(list)
    for r in requests:
        hours[f"{r['status'] // 100}xx", r["event_time"].replace(minute=0, second=0, microsecond=0)].append(r)
    return {key: _hour([r["bytes"] for r in inside]) for key, inside in hours.items()}


def _hour(sizes: list[int | None]) -> dict[str, Any]:
    known_sizes = [size for size in sizes if size is not None]
    mean = _ratio(Decimal(sum(known_sizes)), len(known_sizes), 2) if known_sizes else None
    return {"requests": len(sizes), "bytes": Decimal(sum(known_sizes)), "sized": len(known_sizes), "bytes_mean": mean}


def traffic_by_path(requests: Iterable[Event]) -> Rows:
    """Rows per path, without the query string."""
    paths: Groups = defaultdict(list)
    for request in requests:
        paths[(request["path"].split("?")[0],)].append(request)
    return {key: _path(inside) for key, inside in paths.items()}


def _path(requests: list[Event]) -> dict[str, Any]:
    errors = sum(1 for r in requests if r["status"] >= 400)
    return {
        "requests": len(requests),
        "errors": errors,
        "bytes": Decimal(sum(r["bytes"] or 0 for r in requests)),
        "first_seen": min(r["event_time"] for r in requests),
        "last_seen": max(r["event_time"] for r in requests),
        "error_share": _ratio(Decimal(errors), len(requests), 4),
    }


def _ratio(a: Decimal, b: int, places: int) -> Decimal:
    """Division rounded half away from zero, as SQL does."""
    return (a / b).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


VIEWS: dict[str, Callable[[Iterable[Event]], Rows]] = {
    "trade_stats": trade_stats,
    "trades_by_day": trades_by_day,
    "traffic_by_hour": traffic_by_hour,
    "traffic_by_path": traffic_by_path,
}
