"""Generated records of a topic whose file has a generator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from core.draws import Draws
from core.errors import Usage
from core.record_keys import encode_key
from core.sample_spec import DISORDER_MS, BlockGenerator, EventGenerator, SampleRecord, SampleSpec
from core.topic import Json, Topic

_RECENT = 50  # a duplicate repeats one of this many events before it
_BLOCK = 4_096

Seal = Callable[[Iterable[SampleRecord]], Iterator[SampleRecord]]


class _Event(NamedTuple):
    """Which event a record carries: a repeated record carries the event of an earlier one."""

    number: int
    bad: bool
    unmatched: bool


def records(
    topic: Topic, spec: SampleSpec, count: int | None, first: int = 0, *, sealed: Seal = iter
) -> Iterator[SampleRecord]:
    """``count`` records from number ``first``, or without end. Raises Usage for a topic whose file has no generator.

    ``sealed`` encrypts records before some of them are spoiled.
    """
    if topic.generator is None:
        raise Usage(
            f"topic {topic.name} has no generator",
            fix="load a file with --file FILE, or give the topic's file a generator",
        )
    end = None if count is None else first + count
    return _blocks(topic, topic.generator, spec, first, end, sealed)


def _blocks(
    topic: Topic,
    generator: EventGenerator | BlockGenerator,
    spec: SampleSpec,
    first: int,
    end: int | None,
    sealed: Seal,
) -> Iterator[SampleRecord]:
    while end is None or first < end:
        block_end = first + _BLOCK if end is None else min(first + _BLOCK, end)
        numbers = range(first, block_end)
        if isinstance(generator, BlockGenerator) and spec.is_regular:
            yield from sealed(generator.records(spec, numbers))
        else:
            yield from _mixed_block(topic, generator, [_event(spec, number) for number in numbers], spec, sealed)
        first = block_end


def _mixed_block(
    topic: Topic,
    generator: EventGenerator | BlockGenerator,
    events: Sequence[_Event],
    spec: SampleSpec,
    sealed: Seal,
) -> Iterator[SampleRecord]:
    """Records of which some may be repeated, bad or without a counterpart."""
    if isinstance(generator, BlockGenerator):
        good = generator.records(spec, [event.number for event in events])
    else:
        good = (_record(topic, generator, spec, event) for event in events)
    for event, record in zip(events, sealed(good), strict=True):
        yield _spoiled(record) if event.bad else record


def _event(spec: SampleSpec, number: int) -> _Event:
    if spec.is_regular:
        return _Event(number, bad=False, unmatched=False)
    draws = Draws(spec.seed ^ 0x5EED, number)
    while draws.chance(spec.duplicate) and number:  # the repeated record may itself be a repetition
        number = max(0, number - 1 - draws.below(_RECENT))
        draws = Draws(spec.seed ^ 0x5EED, number)
    return _Event(number, draws.chance(spec.bad), draws.chance(spec.unmatched))


def _record(topic: Topic, generator: EventGenerator, spec: SampleSpec, event: _Event) -> SampleRecord:
    draws = Draws(spec.seed, event.number, event.unmatched)
    at = spec.due(event.number) - _delay(spec, draws)
    values = generator(draws)
    if isinstance(values, str):
        return SampleRecord(None, values.encode(), at)
    key = _key(topic, str(values[topic.key])) if topic.key else None
    if topic.changelog and set(values) == {topic.key}:
        return SampleRecord(key, None, at)
    assert isinstance(topic.format, Json)
    timed = {**values, **({topic.event_time: at} if topic.event_time else {})}
    members = {name: timed[name] for name in topic.format.versions[0].names if name in timed}
    return SampleRecord(key, json.dumps(members, separators=(",", ":")).encode(), at)


def _key(topic: Topic, text: str) -> bytes:
    key = encode_key(topic.key_encoding, text)
    if key is None:
        fix = "correct the generator or the key_encoding in the topic's file"
        raise Usage(f"the generator of topic {topic.name} gave the key {text!r}, not a {topic.key_encoding}", fix=fix)
    return key


def _delay(spec: SampleSpec, draws: Draws) -> int:
    """Milliseconds by which the event time steps back."""
    late, out_of_order = draws.chance(spec.late), draws.chance(spec.out_of_order)
    delay = draws.below(spec.late_by if late else DISORDER_MS) + 1
    return delay if late or out_of_order else 0


def _spoiled(record: SampleRecord) -> SampleRecord:
    """The record with a value that is not UTF-8."""
    return record._replace(value=b"\xff" + (record.value or b"")[:20])
