"""Sentences about the guesses that a person should look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flows.new_topic.field_guesses import FieldGuess
from flows.new_topic.field_names import is_declarable
from flows.new_topic.time_formats import time_format_of

FEW_RECORDS = 20


def notes_on_guesses(
    count: int, fields: Sequence[FieldGuess], event_time: FieldGuess, key: FieldGuess | None
) -> list[str]:
    """Notes on the fields of so many records, on the choice of the event time and of the key."""
    notes = []
    if count < FEW_RECORDS:
        notes.append(f"{count} records are few: types may be too narrow for the next ones")
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
    return [*notes, *(note for field in fields for note in _notes_on(field))]


def notes_on_names(json_names: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """Notes on the members that are no field, and why."""
    spellings = {name.lower(): name for name in json_names}
    repeated = [name for name in left_out if is_declarable(name) and name.lower() in spellings]
    others = [ascii(name[:40]) for name in left_out if name not in repeated]
    notes = []
    if repeated:
        pairs = [f"{name} ({spellings[name.lower()]})" for name in repeated]
        notes.append(f"left out, because another name differs only in case: {_first(pairs)}")
    if others:
        notes.append(
            f"left out, because no topic can declare these names (the log keeps their values): {_first(others)}"
        )
    return notes


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" and others" if len(names) > 5 else "")


def _notes_on(field: FieldGuess) -> Iterator[str]:
    if field.time and not field.time.has_zone:
        yield f"{field.name} does not say its time zone: it is read as UTC"
    if field.has_exponents:
        yield f"{field.name} has numbers such as 1e5, which no number type reads: it stays text"
    if (field.is_number or field.is_text_of_numbers) and time_format_of(field.values):
        yield f"{field.name} could be a time, but its name does not say so: it is {_kept(field)}"
    if not field.seen:
        yield f"{field.name} never has a value: it is text"
    if field.long_line:
        yield f"{field.name} has more than 18 digits: it stays text (line {field.long_line})"
    elif field.is_text_of_numbers:
        yield f"{field.name} has more digits than decimal(28,18) holds: it stays text"
    if field.odd and field.odd.line != field.long_line:
        yield _note_on_odd(field)


def _note_on_odd(field: FieldGuess) -> str:
    assert field.odd
    odd = field.odd
    share = f"{field.name} is {odd.kind} in {odd.fitting:,} of {odd.seen:,} records"
    if not odd.absent:
        return f"{share}; line {odd.line} has {odd.shown}: it is {_kept(field)}"
    words = ", ".join(map(repr, odd.absent))
    return f"{share}, and has several texts for no value, of which a field can have one: {words}; it is {_kept(field)}"


def _kept(field: FieldGuess) -> str:
    return "a number" if field.is_number else "text"
