"""Guesses a topic and a view from the fields of a sample: the event time, the key, the window and the sums."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.errors import Refused
from core.identifiers import Name
from core.topic import EVENT_TIME
from flows.new_topic.field_guesses import FieldGuess, guess_fields
from flows.new_topic.field_names import field_names, is_declarable, unused
from flows.new_topic.sample_file import JsonRecord
from flows.new_topic.time_formats import time_format_of

MOST_FIELDS = 100
MOST_SUMS = 3
FEW_RECORDS = 20
_EVENT_TIMES = ("event_time", "timestamp", "time", "ts", "datetime", "date", "created_at", "at")  # best first
_ID = re.compile(r"(^|_)(id|key|uuid|user|customer|account|client|device|sensor|host|symbol|ticker|name)(_|$)")
_NO_AMOUNT = re.compile(r"(^|_)(id|no|number|code|zip|year|lat|lon|latitude|longitude|port|status|version|seq)(_|$)")
_LONGEST_KEY = 200
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


@dataclass(frozen=True)
class WindowGuess:
    """A tumbling window; ``size`` is milliseconds."""

    name: str
    size: int


@dataclass(frozen=True)
class TopicGuess:
    """A guessed topic and what its view groups and sums. ``json_names`` are in the order in which producers write.

    ``key`` is None where no field can group the records. ``left_out`` are JSON names that a topic cannot declare.
    ``unsure`` are sentences about guesses that a person should look at.
    """

    name: Name
    fields: tuple[FieldGuess, ...]
    event_time: FieldGuess
    key: FieldGuess | None
    window: WindowGuess
    sums: tuple[FieldGuess, ...]
    json_names: tuple[str, ...]
    left_out: tuple[str, ...]
    unsure: tuple[str, ...]


def guess_topic(name: Name, records: Sequence[JsonRecord]) -> TopicGuess:
    """The guess for the records of a sample. Raises Refused where no field is a time in every record."""
    json_names, left_out = _json_names(records)
    fields = guess_fields(records, field_names(json_names))
    event_time = _event_time(fields, records)
    if event_time.name != EVENT_TIME:  # only the event time of a topic may be called so
        other_name = unused(f"{EVENT_TIME}_value", [field.name for field in fields])
        fields = tuple(replace(field, name=other_name) if field.name == EVENT_TIME else field for field in fields)
    key = _key(fields)
    amounts = [field for field in fields if field.is_number and not _NO_AMOUNT.search(field.name) and field is not key]
    sums = tuple(amounts[:MOST_SUMS])
    unsure = (*_unsure(records, fields, event_time, key), *_unsure_names(left_out))
    return TopicGuess(name, fields, event_time, key, _window(event_time), sums, json_names, left_out, unsure)


def _json_names(records: Sequence[JsonRecord]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The members that a topic can declare, in the order of the most frequent shape, then the others; and the rest."""
    shapes = Counter(tuple(record.members) for record in records)
    ordered = dict.fromkeys(name for shape, _ in shapes.most_common() for name in shape)
    spellings: dict[str, str] = {}
    declared = [name for name in ordered if is_declarable(name) and spellings.setdefault(name.lower(), name) == name]
    if len(declared) > MOST_FIELDS:
        raise Refused(
            f"the records have {len(declared):,} different names; a topic file has at most {MOST_FIELDS}",
            where=f"such as {declared[-1]}",
            fix="names that are data, such as ids, belong into values: write them into a member of their own",
        )
    return tuple(declared), tuple(name for name in ordered if name not in declared)


def _event_time(fields: Sequence[FieldGuess], records: Sequence[JsonRecord]) -> FieldGuess:
    times = [field for field in fields if field.time]
    complete = [field for field in times if field.required]
    if complete:
        return min(complete, key=_rank)
    advice = (
        "every record needs its time: epoch milliseconds, or text such as 2026-01-01T00:00:00Z, in a field such as "
        "event_time; or write the topic by hand (docs/add-a-view.md): without event_time= the time of sending counts"
    )
    if times:
        best = max(times, key=lambda field: field.seen)
        missing = next(n for n, text in enumerate(best.texts) if text is None or text == best.absent)
        what = f"field {best.json_name} is a time in {best.seen:,} of {len(records):,} records, and missing in others"
        raise Refused(what, where=f"line {records[missing].line}", fix=advice)
    raise Refused(f"none of the {len(fields)} fields is a time", where=_shown_fields(fields), fix=advice)


def _rank(field: FieldGuess) -> tuple[int, bool]:
    rank = _EVENT_TIMES.index(field.name) if field.name in _EVENT_TIMES else len(_EVENT_TIMES)
    return rank, not field.name.endswith(("_at", "_time"))


def _shown_fields(fields: Sequence[FieldGuess]) -> str:
    shown = ", ".join(f"{field.json_name} ({field.type})" for field in fields[:10])
    return shown + (f" and {len(fields) - 10} more" if len(fields) > 10 else "")


def _key(fields: Sequence[FieldGuess]) -> FieldGuess | None:
    """The field that groups best: an id that occurs several times, else any text that does, else an id."""

    def rank(field: FieldGuess) -> tuple[bool, bool, int]:
        repeats = 2 <= field.distinct <= max(2, field.seen // 2)
        return repeats, _ID.search(field.name) is not None, field.distinct if repeats else -field.distinct

    eligible = [field for field in fields if _can_be_key(field)]
    return max(eligible, key=rank, default=None)


def _can_be_key(field: FieldGuess) -> bool:
    is_text = field.type == "string" and not field.is_nested and not field.has_exponents
    is_id = field.type == "bigint" and _ID.search(field.name) is not None
    return (is_text or is_id) and field.required and max(map(len, field.values)) <= _LONGEST_KEY


def _window(event_time: FieldGuess) -> WindowGuess:
    """Windows of which the sample has several."""
    assert event_time.time
    times = [event_time.time.millis(text) for text in event_time.values]
    span = max(times) - min(times)
    if span <= 2 * _HOUR:
        return WindowGuess("minute", _MINUTE)
    return WindowGuess("hour", _HOUR) if span <= 4 * _DAY else WindowGuess("day", _DAY)


def _unsure(
    records: Sequence[JsonRecord], fields: Sequence[FieldGuess], event_time: FieldGuess, key: FieldGuess | None
) -> list[str]:
    notes = []
    if len(records) < FEW_RECORDS:
        notes.append(f"{len(records)} records are few: types may be too narrow for the next ones")
    other_times = [field.name for field in fields if field.time and field is not event_time]
    if other_times:
        notes.append(f"the event time may be another one than {event_time.name}: {', '.join(other_times)}")
    if key is None:
        notes.append("no field can group the records, so the topic and the view have no key")
    elif not 2 <= key.distinct <= max(2, key.seen // 2):
        notes.append(f"the key {key.name} has {key.distinct:,} different values in {key.seen:,} records")
    places = ", ".join(f"{field.name} {field.scale}" for field in fields if field.scale)
    if places:
        notes.append(f"a number with more decimal places than these goes to quarantine: {places}")
    for field in fields:
        if field.time and not field.time.has_zone:
            notes.append(f"{field.name} does not say its time zone: it is read as UTC")
        if field.has_exponents:
            notes.append(f"{field.name} has numbers such as 1e5, which no number type reads: it stays text")
        if field.type == "bigint" and time_format_of(field.values):
            notes.append(f"{field.name} could be a time, but its name does not say so: it is a number")
        if not field.seen:
            notes.append(f"{field.name} never has a value: it is text")
    return notes


def _unsure_names(left_out: Sequence[str]) -> list[str]:
    if not left_out:
        return []
    shown = ", ".join(ascii(name[:40]) for name in left_out[:5]) + (" and others" if len(left_out) > 5 else "")
    return [f"left out, because no topic can declare these names (the log keeps their values): {shown}"]
