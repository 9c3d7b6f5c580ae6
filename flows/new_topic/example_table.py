"""The example of a generated view: some records of the sample, and its rows computed in plain Python."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from flows.new_topic.field_guesses import FieldGuess
from flows.new_topic.guesses import TopicGuess
from flows.new_topic.sample_file import JsonRecord
from flows.new_topic.time_formats import iso_utc

MOST_RECORDS = 5
_SHORT = 400  # characters of a record that a person likes to read
_CLEAR = re.compile(r"(?!null$)[A-Za-z0-9_.:@/+-]+")  # a cell that needs no quotes


@dataclass(frozen=True)
class ExampleTable:
    """Records in the order of the file, and the rows that the view computes from them. The first row has the names."""

    records: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def measures_of(field: FieldGuess) -> tuple[str, str, str]:
    """The names of a field's measures: its sum, its smallest and its largest value."""
    return f"{field.name}_sum", f"{field.name}_min", f"{field.name}_max"


def example_of(guess: TopicGuess, records: Sequence[JsonRecord], columns: Sequence[str]) -> ExampleTable | None:
    """The example of the view that has these stored columns; None where no record can be in one.

    The text ``ms(`` has a meaning in examples, so a record that contains it is not taken.
    """
    usable = [number for number, record in enumerate(records) if "ms(" not in record.text]
    short = [number for number in usable if len(records[number].text) <= _SHORT]
    chosen = _first_with_a_pair(guess, short) or usable[:1]
    if not chosen:
        return None
    return ExampleTable(tuple(records[number].text for number in chosen), (tuple(columns), *_rows(guess, chosen)))


def _first_with_a_pair(guess: TopicGuess, numbers: Sequence[int]) -> list[int]:
    """The first records, the last of them in the same row as the first one if any record is."""
    first, rest = list(numbers[: MOST_RECORDS - 1]), numbers[MOST_RECORDS - 1 :]
    if len({_group(guess, number) for number in first}) < len(first):
        return [*first, *rest[:1]]
    same = (number for number in rest if _group(guess, number) == _group(guess, first[0]))
    return [*first, *list(same)[:1]] if first else []


def _group(guess: TopicGuess, number: int) -> tuple[str, ...]:
    """The key and the start of the window of a record."""
    assert guess.event_time.time
    time = guess.event_time.time.millis(guess.event_time.texts[number] or "")
    start = iso_utc(time // guess.window.size * guess.window.size)
    return (start,) if guess.key is None else (_cell(guess.key.texts[number] or ""), start)


def _rows(guess: TopicGuess, chosen: Sequence[int]) -> list[tuple[str, ...]]:
    """One row per key and window, in the order of the file."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number in chosen:
        groups[_group(guess, number)].append(number)
    return [
        (*group, str(len(numbers)), *(cell for field in guess.sums for cell in _measured(field, numbers)))
        for group, numbers in groups.items()
    ]


def _measured(field: FieldGuess, numbers: Sequence[int]) -> tuple[str, str, str]:
    texts = [field.texts[number] for number in numbers]
    values = [Decimal(text) for text in texts if text is not None and text != field.absent]
    if not values:
        return "null", "null", "null"
    total, low, high = (f"{value:.{field.scale}f}" for value in (sum(values), min(values), max(values)))
    return total, low, high


def _cell(text: str) -> str:
    return text if _CLEAR.fullmatch(text) else json.dumps(text)
