"""Guesses which field is the time of an event, or says why none can be."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import Refused
from flows.new_topic.field_guesses import FieldGuess
from flows.new_topic.odd_values import A_TIME
from flows.new_topic.sample_file import JsonRecord

_BEST_NAMES = ("event_time", "timestamp", "time", "ts", "datetime", "date", "created_at", "at")  # best first
_ADVICE = (
    "every record needs its time: epoch time, or text such as 2026-01-01T00:00:00Z, in a field such as event_time; or "
    "write the topic by hand (docs/add-a-view.md): without event_time= the time of sending counts"
)


def event_time_of(fields: Sequence[FieldGuess], records: Sequence[JsonRecord]) -> FieldGuess:
    """The field that is a time in every record, by the best name. Raises Refused where there is none."""
    complete = [field for field in fields if field.time and field.required]
    if complete:
        return min(complete, key=_rank)
    best = max(fields, key=_times_in)
    if not _times_in(best):
        raise Refused(f"none of the {len(fields)} fields is a time", where=_shown_fields(fields), fix=_ADVICE)
    share = f"field {best.json_name} is a time in {_times_in(best):,} of {len(records):,} records"
    if best.odd and not best.odd.absent:
        fix = f"correct or remove such lines; {_ADVICE}"
        raise Refused(f"{share}; line {best.odd.line} has {best.odd.shown}", where=f"line {best.odd.line}", fix=fix)
    line = best.odd.line if best.odd else _first_without(best, records)
    raise Refused(f"{share}, and missing in others", where=f"line {line}", fix=_ADVICE)


def _times_in(field: FieldGuess) -> int:
    """How many values are times, whatever the type is."""
    if field.time:
        return field.seen
    return field.odd.fitting if field.odd and field.odd.kind == A_TIME else 0


def _first_without(field: FieldGuess, records: Sequence[JsonRecord]) -> int:
    return next(
        record.line for record, text in zip(records, field.texts, strict=True) if text is None or text == field.absent
    )


def _rank(field: FieldGuess) -> tuple[int, bool]:
    rank = _BEST_NAMES.index(field.name) if field.name in _BEST_NAMES else len(_BEST_NAMES)
    return rank, not field.name.endswith(("_at", "_time"))


def _shown_fields(fields: Sequence[FieldGuess]) -> str:
    shown = ", ".join(f"{field.json_name} ({_shown_type(field)})" for field in fields[:10])
    return shown + (f" and {len(fields) - 10} more" if len(fields) > 10 else "")


def _shown_type(field: FieldGuess) -> str:
    """Times inside objects are not looked for, so objects are named."""
    return "objects or arrays" if field.is_nested else field.type if field.seen else "never a value"
