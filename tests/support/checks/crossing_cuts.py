"""Finds joins, sessions and deletes of the programs whose events lie on both sides of a cut."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from tests.support.oracle.program_oracle import HOUR, Event


def crossing(events: Iterable[Event], below: Collection[Event]) -> set[str]:
    """The kinds ("join", "session", "delete") that the cut divides. ``below`` holds the events below the cut."""
    places_below = {_place(event) for event in below}
    return {
        kind
        for kind, a, b in _together(sorted(events, key=_time))
        if (_place(a) in places_below) != (_place(b) in places_below)
    }


def _place(event: Event) -> tuple[str, int, int]:
    return event["topic"], event["partition"], event["offset"]


def _time(event: Event) -> tuple[int, str, int, int]:
    return event["at"], *_place(event)


def _together(events: list[Event]) -> Iterator[tuple[str, Event, Event]]:
    orders = {e["order_id"]: e for e in events if e["topic"] == "orders"}
    for payment in (e for e in events if e["topic"] == "payments"):
        order = orders.get(payment["order_id"])
        if order and 0 <= payment["at"] - order["at"] <= HOUR // 6:
            yield "join", order, payment
    for before, after in _neighbours(events, "access_log", "client"):
        if after["at"] - before["at"] <= HOUR // 2:
            yield "session", before, after
    for before, after in _neighbours(events, "profiles", "user_id"):
        if before["city"] is not None and after["city"] is None:
            yield "delete", before, after


def _neighbours(events: list[Event], topic: str, key: str) -> Iterator[tuple[Event, Event]]:
    units: dict[str, list[Event]] = {}
    for event in events:
        if event["topic"] == topic:
            units.setdefault(event[key], []).append(event)
    for unit in units.values():
        yield from pairwise(unit)
