"""Made-up records of any topic whose file has an ``example``: the same for the same seed, in any part and order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from core.errors import Usage
from core.sample_data.draws import Draws
from core.topic import Json, Topic

DISORDER_MS = 3_000  # an out-of-order event steps back by at most this much
_RECENT = 50  # a duplicate repeats one of so many events before it
_SHARES = ("late", "out_of_order", "duplicate", "unmatched", "bad")


@dataclass(frozen=True)
class SampleSpec:
    """What to make. ``start`` is epoch milliseconds; event n happens n / ``rate`` seconds later.

    Shares of events: ``late`` by up to ``late_by`` milliseconds, ``out_of_order`` by up to DISORDER_MS, ``duplicate``
    of an earlier record, byte for byte, ``unmatched`` in other topics, ``bad``: not to be decoded. Raises Usage for
    impossible numbers.
    """

    seed: int
    start: int
    rate: float = 1_000.0
    late: float = 0.0
    late_by: int = 3_600_000
    out_of_order: float = 0.0
    duplicate: float = 0.0
    unmatched: float = 0.0
    bad: float = 0.0

    def __post_init__(self) -> None:
        if self.rate <= 0 or self.late_by < 1:
            raise Usage(f"a rate of {self.rate} and late by {self.late_by} ms are impossible", fix="give more than 0")
        for name in _SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise Usage(f"a share of {getattr(self, name)} {name} is impossible", fix="give a share from 0 to 1")


class SampleRecord(NamedTuple):
    """A record as a producer sends it; ``at`` is the event's time, and its timestamp where values tell none."""

    key: bytes | None
    value: bytes | None
    at: int


def records(topic: Topic, spec: SampleSpec, count: int, first: int = 0) -> Iterator[SampleRecord]:
    """``count`` records from number ``first``. Raises Usage for a topic whose file has no example."""
    if topic.example is None:
        raise Usage(f"topic {topic.name} has no generator", fix="load a file: --file; or give its file an example")
    for number in range(first, first + count):
        yield _record(topic, spec, number)


def _record(topic: Topic, spec: SampleSpec, number: int) -> SampleRecord:
    how = Draws(spec.seed ^ 0x5EED, number)
    while how.chance(spec.duplicate) and number:  # what is repeated may be a repetition itself
        number = max(0, number - 1 - how.below(_RECENT))
        how = Draws(spec.seed ^ 0x5EED, number)
    bad, unmatched = how.chance(spec.bad), how.chance(spec.unmatched)
    made = _record_alone(topic, spec, number, unmatched=unmatched)
    return made._replace(value=b"\xff" + (made.value or b"")[:20]) if bad else made


def _record_alone(topic: Topic, spec: SampleSpec, number: int, *, unmatched: bool) -> SampleRecord:
    dice = Draws(spec.seed, number, unmatched)
    at = spec.start + int(number * 1_000 / spec.rate) - _delay(spec, dice)
    assert topic.example is not None
    found = topic.example(dice)
    if isinstance(found, str):
        return SampleRecord(None, found.encode(), at)
    key = str(found[topic.key]).encode() if topic.key else None
    if topic.changelog and set(found) == {topic.key}:
        return SampleRecord(key, None, at)
    assert isinstance(topic.format, Json)
    given = {**found, **({topic.event_time: at} if topic.event_time else {})}
    names = [name for name in topic.format.versions[0].names if name in given]
    return SampleRecord(key, json.dumps({name: given[name] for name in names}, separators=(",", ":")).encode(), at)


def _delay(spec: SampleSpec, dice: Draws) -> int:
    late, disordered = dice.chance(spec.late), dice.chance(spec.out_of_order)
    by = dice.below(spec.late_by if late else DISORDER_MS) + 1
    return by if late or disordered else 0
