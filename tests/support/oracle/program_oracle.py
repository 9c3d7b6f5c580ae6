"""The oracle of the programs: the expected rows of each view from its events, in plain Python.

An event is a dictionary of its fields with ``topic``, ``partition``, ``offset`` and ``at`` (epoch milliseconds).
Rows are tuples in the order of the view's columns. Equal rows are repeated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any

from tests.support.oracle.view_oracle import moment

Event = dict[str, Any]
Row = tuple[Any, ...]

HOUR = 3_600_000


def rows(view: str, events: Iterable[Event]) -> list[Row]:
    """The rows of a view over these events, in any order. Events of other topics are ignored."""
    if view in ROLLUPS:
        topic, of_all = ROLLUPS[view]
        return list(of_all([event for event in events if event["topic"] == topic]))
    topics, of_key = KEYED[view]
    units: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event["topic"] in topics:
            units[event[KEYS[view]]].append(event)
    return [(key, *row) for key, unit in units.items() for row in of_key(sorted(unit, key=_position))]


def _position(event: Event) -> tuple[int, str, int, int]:
    return event["at"], event["topic"], event["partition"], event["offset"]


def order_payments(events: list[Event]) -> Iterator[Row]:
    """Full outer join: an order matches the payments of the ten minutes from it on. Events without a match stay."""
    orders = [e for e in events if e["topic"] == "orders"]
    payments = [e for e in events if e["topic"] == "payments"]
    matched = set()
    for n, order in enumerate(orders):
        partners = [p for p in payments if 0 <= p["at"] - order["at"] <= 600_000]
        for p in partners:
            times = moment(order["at"]), moment(p["at"]), moment(order["at"])
            yield (*times, order["amount"], p["payment_id"], p["paid"], "both")
            matched.add(id(p))
        if not partners:
            yield moment(order["at"]), None, moment(order["at"]), orders[n]["amount"], None, None, "order"
    for p in payments:
        if id(p) not in matched:
            yield None, moment(p["at"]), moment(p["at"]), None, p["payment_id"], p["paid"], "payment"


def sessions(events: list[Event]) -> Iterator[Row]:
    """A request more than half an hour after the previous one starts a new session."""
    session: list[Event] = []
    for event in [*events, None]:
        if session and (event is None or event["at"] - session[-1]["at"] > HOUR // 2):
            size = Decimal(sum(e["bytes"] or 0 for e in session))
            yield moment(session[0]["at"]), moment(session[-1]["at"]), len(session), size
            session = []
        if event is not None:
            session.append(event)


def trades_sliding(events: list[Event]) -> Iterator[Row]:
    """For each trade, the trades of the five seconds up to and including its own millisecond."""
    for trade in events:
        inside = [e["price"] for e in events if trade["at"] - 5_000 < e["at"] <= trade["at"]]
        place = trade["partition"], trade["offset"]
        yield moment(trade["at"]), *place, trade["price"], len(inside), sum(inside, Decimal(0))


def readings_gaps(events: list[Event]) -> Iterator[Row]:
    """Sequence numbers that are repeated or follow a gap."""
    copies = Counter(e["seq"] for e in events)
    before: int | None = None
    for seq in sorted(copies):
        missing = None if before is None else seq - before - 1
        if missing or copies[seq] > 1:
            yield seq, missing, copies[seq]
        before = seq


def readings_backwards(events: list[Event]) -> Iterator[Row]:
    """Readings whose partition has an earlier offset with a later time."""
    highest_times: dict[int, int] = {}
    for event in sorted(events, key=lambda e: e["offset"]):
        highest = highest_times.get(event["partition"], int(event["at"]))
        if event["at"] < highest:
            yield moment(event["at"]), event["partition"], event["offset"], moment(highest)
        highest_times[event["partition"]] = max(highest, event["at"])


def purchases_once(events: list[Event]) -> Iterator[Row]:
    """The purchases without duplicates. An event is a duplicate of a preceding one that is at most an hour older."""
    for n, event in enumerate(events):
        if not any(event["at"] - earlier["at"] <= HOUR for earlier in events[:n]):
            yield event["item"], moment(event["at"])


def page_views_enriched(events: list[Event]) -> Iterator[Row]:
    """Page views with the latest profile up to the view's time, and one row per search within a second."""
    for view in events:
        if view["topic"] != "page_views":
            continue
        profiles = [e for e in events if e["topic"] == "profiles" and e["at"] <= view["at"]]
        profile = (profiles[-1]["city"], profiles[-1]["level"]) if profiles else (None, None)
        near_searches = [e for e in events if e["topic"] == "searches" and abs(e["at"] - view["at"]) <= 1_000]
        searches: list[tuple[Any, Any]] = [(e["term"], moment(e["at"])) for e in near_searches] or [(None, None)]
        for search in searches:
            yield view["view_id"], moment(view["at"]), view["page"], *profile, *search


def profile_changes(events: list[Event]) -> Iterator[Row]:
    """Records that create, delete or change a profile, with the old and the new values."""
    before: tuple[Any, Any] = (None, None)
    for event in events:
        now = event["city"], event["level"]
        if now != before:
            yield moment(event["at"]), now[0] is None, *now, before[0] is not None, *before
        before = now


def word_count(events: list[Event]) -> Iterator[Row]:
    """Counts of lower-case words, without 'the'. A word is a run of letters."""
    words = Counter(word for e in events for word in _words(e["line"].lower()) if word != "the")
    yield from words.items()


def _words(text: str) -> list[str]:
    return "".join(c if c.isalpha() else " " for c in text).split()


def readings_by_hour(events: list[Event]) -> Iterator[Row]:
    """Every reading counts in the hour of its event time, however late it arrives."""
    for (device, hour), inside in _grouped(events, lambda e: (e["device"], e["at"] // HOUR)).items():
        degrees = [e["celsius"] for e in inside]
        yield device, moment(hour * HOUR), len(degrees), sum(degrees, Decimal(0)), min(degrees), max(degrees)


def orders_by_country(events: list[Event]) -> Iterator[Row]:
    """Orders by the country name that was valid at the time of the order."""
    for (name,), inside in _grouped(events, lambda e: (_country(e["country"], e["at"]),)).items():
        yield name, len(inside), sum((e["amount"] for e in inside), Decimal(0))


def _country(code: str, at: int) -> str | None:
    if code == "TR":  # renamed on 2022-06-01
        return "Turkey" if at < 1_654_041_600_000 else "Türkiye"
    if code == "CZ":  # renamed on 2016-07-01
        return "Czech Republic" if at < 1_467_331_200_000 else "Czechia"
    return {"NO": "Norway", "DE": "Germany", "JP": "Japan", "US": "United States of America"}.get(code)


def top_ten(events: list[Event]) -> Iterator[Row]:
    """Every stock of each hour. The view's presentation adds the ranks."""
    for (ticker, hour), inside in _grouped(events, lambda e: (e["ticker"], e["at"] // HOUR)).items():
        yield ticker, moment(hour * HOUR), len(inside), Decimal(sum(e["size"] for e in inside))


def trades_week(events: list[Event]) -> Iterator[Row]:
    """Every day of each stock. The view's presentation adds the seven-day average."""
    for (ticker, day), inside in _grouped(events, lambda e: (e["ticker"], e["at"] // (24 * HOUR))).items():
        prices = [e["price"] for e in inside]
        yield ticker, moment(day * 24 * HOUR), len(prices), sum(prices, Decimal(0)), min(prices), max(prices)


def profiles_now(events: list[Event]) -> Iterator[Row]:
    """The latest record of every user, including deletes."""
    for (user,), inside in _grouped(events, lambda e: (e["user_id"],)).items():
        last = max(inside, key=_position)
        yield user, last["city"], last["level"], last["city"] is None


def preferences_now(events: list[Event]) -> Iterator[Row]:
    """The last record of every user in the log, as compaction keeps it. An undecodable last record gives nulls."""
    for (user,), inside in _grouped(events, lambda e: (e["user_id"],)).items():
        last = max(inside, key=lambda e: (e["partition"], e["offset"]))
        yield user, last["theme"], None if last.get("unknown") else last["theme"] is None


def purchases_by_event_time(events: list[Event]) -> Iterator[Row]:
    """Purchases per minute of event time."""
    return _by_minute(events, "at")


def purchases_by_append_time(events: list[Event]) -> Iterator[Row]:
    """Purchases per minute of append time."""
    return _by_minute([{"logged": e["at"], **e} for e in events], "logged")


def _by_minute(events: list[Event], time: str) -> Iterator[Row]:
    for (item, minute), inside in _grouped(events, lambda e: (e["item"], e[time] // 60_000)).items():
        yield item, moment(minute * 60_000), len(inside)


def _grouped(events: list[Event], key: Callable[[Event], tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Event]]:
    groups: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    for event in events:
        groups[key(event)].append(event)
    return groups


ROLLUPS: dict[str, tuple[str, Callable[[list[Event]], Iterable[Row]]]] = {
    "orders_by_country": ("orders", orders_by_country),
    "preferences_now": ("preferences", preferences_now),
    "profiles_now": ("profiles", profiles_now),
    "purchases_by_append_time": ("purchases", purchases_by_append_time),
    "purchases_by_event_time": ("purchases", purchases_by_event_time),
    "readings_by_hour": ("readings", readings_by_hour),
    "top_ten": ("trades", top_ten),
    "trades_week": ("trades", trades_week),
    "word_count": ("lines", word_count),
}
KEYED: dict[str, tuple[tuple[str, ...], Callable[[list[Event]], Iterable[Row]]]] = {
    "order_payments": (("orders", "payments"), order_payments),
    "page_views_enriched": (("page_views", "profiles", "searches"), page_views_enriched),
    "profile_changes": (("profiles",), profile_changes),
    "purchases_once": (("purchases",), purchases_once),
    "readings_backwards": (("readings",), readings_backwards),
    "readings_gaps": (("readings",), readings_gaps),
    "sessions": (("access_log",), sessions),
    "trades_sliding": (("trades",), trades_sliding),
}
KEYS = {
    "order_payments": "order_id",
    "page_views_enriched": "user_id",
    "profile_changes": "user_id",
    "purchases_once": "purchase_id",
    "readings_backwards": "device",
    "readings_gaps": "device",
    "sessions": "client",
    "trades_sliding": "ticker",
}
