"""Hypothesis strategies of the programs' events: few keys, and times that tie, step back or meet boundaries."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.support.oracle.view_oracle import Record

START = 1_763_683_200_000  # 2025-11-21 UTC, a boundary of every segment
Event = dict[str, Any]

_cents = st.integers(1, 300).map(lambda n: Decimal(n).scaleb(-2))
_FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "orders": {"order_id": st.sampled_from("AB"), "amount": _cents, "country": st.sampled_from(["NO", "TR", "XX"])},
    "payments": {"order_id": st.sampled_from("AB"), "payment_id": st.sampled_from(["p1", "p2"]), "paid": _cents},
    "page_views": {"user_id": st.sampled_from("AB"), "view_id": st.sampled_from("vw"), "page": st.just("/")},
    "profiles": {"user_id": st.sampled_from("AB")},
    "preferences": {"user_id": st.sampled_from("AB"), "theme": st.sampled_from(["dark", "light", None])},
    "searches": {"user_id": st.sampled_from("AB"), "term": st.sampled_from(["tea", "é"])},
    "purchases": {"purchase_id": st.sampled_from("AB"), "item": st.sampled_from(["tea", "é"])},
    "readings": {"device": st.sampled_from(["d1", "d2"]), "seq": st.integers(0, 6), "celsius": _cents},
    "access_log": {"client": st.sampled_from(["c1", "c2"]), "bytes": st.one_of(st.none(), st.integers(0, 9))},
    "trades": {"ticker": st.sampled_from("AB"), "price": _cents, "size": st.integers(1, 9)},
    "lines": {"line": st.sampled_from(["The théâtre, the THE", "", "a-b a1b", "the-other Über's", "..."])},
}
# A profile without a city stands for a delete (a tombstone).
_profiles = st.sampled_from([("Oslo", 1), ("Oslo", 2), ("Rome", 1), (None, None)]).map(
    lambda pair: dict(zip(("city", "level"), pair, strict=True))
)
_MINUTE, _HOUR = 60_000, 3_600_000
_STEPS = {
    "orders": (0, 1, -130_000_000_000, 10 * _MINUTE, 10 * _MINUTE + 1, _HOUR - 1, _HOUR),
    "payments": (0, 1, 10 * _MINUTE, 10 * _MINUTE + 1, _HOUR - 1, _HOUR),
    "page_views": (0, 1, 999, 1_000, 1_001),
    "profiles": (0, 1, 999, 1_000),
    "preferences": (0, 1),
    "searches": (0, 1, 999, 1_000, 1_001),
    "purchases": (0, 1, _HOUR, _HOUR + 1, _HOUR - 1, 2 * _HOUR),
    "readings": (0, 1, 2, 3, 3 * 24 * _HOUR),
    "access_log": (0, 1_000, 30 * _MINUTE, 30 * _MINUTE + 1_000, 45 * _MINUTE, 24 * _HOUR),
    "trades": (0, 1, 4_999, 5_000, 59_999, 60_000),
    "lines": (0, 1),
}


def logs(*topics: str, size: int = 30) -> st.SearchStrategy[list[Event]]:
    """Lists of events in log order. Times are sums of few steps, so that many tie."""
    event = st.sampled_from(topics).flatmap(_event)
    return st.lists(event, min_size=size, max_size=size).map(_placed)


def _event(topic: str) -> st.SearchStrategy[Event]:
    step = st.sampled_from(_STEPS[topic])
    at = st.builds(lambda a, b: START + a + b, step, step)
    event = st.fixed_dictionaries({"topic": st.just(topic), "at": at, **_FIELDS[topic]})
    return st.builds(lambda e, profile: {**e, **profile}, event, _profiles) if topic == "profiles" else event


def _placed(events: list[Event]) -> list[Event]:
    """Adds a partition and an offset to each event. All events of a key are in one of two partitions."""
    ends: Counter[tuple[str, int]] = Counter()
    placed = []
    for event in events:
        partition = sum(str(event[KEY[event["topic"]]]).encode()) % 2
        placed.append({**event, "partition": partition, "offset": ends[event["topic"], partition]})
        ends[event["topic"], partition] += 1
    return placed


KEY = {
    "orders": "order_id",
    "payments": "order_id",
    "page_views": "user_id",
    "profiles": "user_id",
    "preferences": "user_id",
    "searches": "user_id",
    "purchases": "purchase_id",
    "readings": "device",
    "access_log": "client",
    "trades": "ticker",
    "lines": "line",
}


def record(event: Event) -> Record:
    """The record of the event."""
    key = str(event[KEY[event["topic"]]]).encode()
    return Record(event["topic"], event["partition"], event["offset"], event["at"], key, _value(event))


def _value(event: Event) -> bytes | None:
    if event["topic"] == "profiles":
        names = ("user_id", "city", "level")
        return json.dumps({name: event[name] for name in names}).encode() if event["city"] else None
    if event["topic"] == "preferences":
        return json.dumps({name: event[name] for name in ("user_id", "theme")}).encode() if event["theme"] else None
    if event["topic"] == "access_log":
        at = datetime.fromtimestamp(event["at"] / 1_000, UTC)
        size = "-" if event["bytes"] is None else event["bytes"]
        return f'{event["client"]} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET / HTTP/1.1" 200 {size} "-" "-"'.encode()
    if event["topic"] == "lines":
        return str(event["line"]).encode()
    fields = {name: event[name] for name in _FIELDS[event["topic"]]} | {"event_time": event["at"]}
    fields |= {"customer": "c"} if event["topic"] == "orders" else {}
    fields |= {"type": "bid"} if event["topic"] == "trades" else {}
    return json.dumps(fields, default=str).encode()
