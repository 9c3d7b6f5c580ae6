"""Guesses a topic and a view from the fields of a sample: the event time, the key, the window and the sums."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.errors import Refused
from core.identifiers import Name
from core.topic import EVENT_TIME, JSON_NAME_RULE
from flows.new_topic.event_time_guess import event_time_of
from flows.new_topic.field_guesses import FieldGuess, guess_fields
from flows.new_topic.field_names import LONGEST, field_names, is_declarable, unused
from flows.new_topic.sample_file import JsonRecord
from flows.new_topic.unsure_notes import notes_on_guesses, notes_on_names

MOST_FIELDS = 100
MOST_SUMS = 3
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
    """The guess for the records of a sample.

    Raises Refused where no field is a time in every record, or no member or too many could be a field.
    """
    json_names, left_out = _json_names(records)
    fields = guess_fields(records, field_names(json_names))
    event_time = event_time_of(fields, records)
    if event_time.name != EVENT_TIME:  # only the event time of a topic may be called so
        other_name = unused(f"{EVENT_TIME}_value", [field.name for field in fields])
        fields = tuple(replace(field, name=other_name) if field.name == EVENT_TIME else field for field in fields)
    key = _key(fields)
    amounts = [field for field in fields if field.is_number and not _NO_AMOUNT.search(field.name) and field is not key]
    sums = tuple(amounts[:MOST_SUMS])
    unsure = (*notes_on_guesses(len(records), fields, event_time, key), *notes_on_names(json_names, left_out))
    return TopicGuess(name, fields, event_time, key, _window(event_time), sums, json_names, left_out, unsure)


def _json_names(records: Sequence[JsonRecord]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The members that a topic can declare, in the order of the most frequent form, then the others; and the rest."""
    forms = Counter(tuple(record.members) for record in records)
    ordered = dict.fromkeys(name for form, _ in forms.most_common() for name in form)
    spellings: dict[str, str] = {}
    declared = [name for name in ordered if is_declarable(name) and spellings.setdefault(name.lower(), name) == name]
    if not declared:
        raise Refused(
            "the records have no member that a topic can declare",
            where=f"line {records[0].line}",
            fix=f"names {JSON_NAME_RULE}, at most {LONGEST} characters",
        )
    if len(declared) > MOST_FIELDS:
        raise Refused(
            f"the records have {len(declared):,} different names; a topic file has at most {MOST_FIELDS}",
            where=f"such as {declared[-1]}",
            fix="names that are data, such as ids, belong into values: write them into a member of their own",
        )
    return tuple(declared), tuple(name for name in ordered if name not in declared)


def _key(fields: Sequence[FieldGuess]) -> FieldGuess | None:
    """The field that groups best: an id that occurs several times, else any text that does, else an id."""

    def rank(field: FieldGuess) -> tuple[bool, bool, int]:
        repeats = 2 <= field.distinct <= max(2, field.seen // 2)
        return repeats, _ID.search(field.name) is not None, field.distinct if repeats else -field.distinct

    eligible = [field for field in fields if _can_be_key(field)]
    return max(eligible, key=rank, default=None)


def _can_be_key(field: FieldGuess) -> bool:
    """Whether a field is text, or a whole number with the name of an id. Numbers that stay text are amounts, too."""
    is_text = field.type == "string" and not field.is_nested and not field.has_exponents
    is_amount = field.has_numbers or field.odd is not None
    is_id = (is_text or field.type == "bigint") and _ID.search(field.name) is not None
    return ((is_text and not is_amount) or is_id) and field.required and max(map(len, field.values)) <= _LONGEST_KEY


def _window(event_time: FieldGuess) -> WindowGuess:
    """Windows of which the sample has several."""
    assert event_time.time
    times = [event_time.time.millis(text) for text in event_time.values]
    span = max(times) - min(times)
    if span <= 2 * _HOUR:
        return WindowGuess("minute", _MINUTE)
    return WindowGuess("hour", _HOUR) if span <= 4 * _DAY else WindowGuess("day", _DAY)
