"""Guesses the type of each field from its values in a sample."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flows.new_topic.odd_values import OddValues, absent_words, odd_values
from flows.new_topic.sample_file import JsonRecord, Number
from flows.new_topic.time_formats import TimeFormat, iso_utc
from flows.new_topic.value_types import is_long_number, text_of, type_of


@dataclass(frozen=True)
class FieldGuess:
    """A guessed field. ``texts`` has its text in each record as decoding sees it, None where there is no value.

    ``type`` is a type of core.topic. ``seen`` counts the records with a value, ``distinct`` its different texts.
    ``has_numbers``: some values are numbers, not in quotes. ``long_line`` has the first that keeps the field text.
    ``is_text_of_numbers``: all values are such numbers, and no type holds them. ``odd``: what keeps it from a type.
    """

    name: str
    json_name: str
    type: str
    texts: Sequence[str | None]
    absent: str | None = None
    time: TimeFormat | None = None
    is_nested: bool = False
    has_exponents: bool = False
    has_numbers: bool = False
    is_text_of_numbers: bool = False
    long_line: int | None = None
    odd: OddValues | None = None

    @property
    def seen(self) -> int:
        """The number of records with a value."""
        return len(self.values)

    @property
    def required(self) -> bool:
        """Whether every record of the sample has a value."""
        return self.seen == len(self.texts)

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return len(set(self.values))

    @property
    def values(self) -> list[str]:
        """The texts of the records that have a value."""
        return [text for text in self.texts if text is not None and text != self.absent]

    @property
    def is_number(self) -> bool:
        """Whether the type is a whole number or a decimal."""
        return self.type == "bigint" or self.type.startswith("decimal")

    @property
    def scale(self) -> int:
        """Decimal places of the type; 0 for whole numbers."""
        return int(self.type[:-1].partition(",")[2]) if self.type.startswith("decimal") else 0

    @property
    def limits(self) -> tuple[str, str] | None:
        """The smallest and the largest value of a number, as texts of the sample."""
        if not self.is_number or not self.values:
            return None
        ordered = sorted(self.values, key=Decimal)
        return ordered[0], ordered[-1]

    @property
    def observed(self) -> str:
        """What the sample showed, in words."""
        if not self.seen:
            return "never a value"
        if self.type == "boolean":
            return "true or false"
        if self.is_nested:
            return "objects or arrays, kept as JSON text"
        if self.time:
            times = sorted(self.time.millis(text) for text in self.values)
            return f"time, {self.time.words}, from {iso_utc(times[0])} to {iso_utc(times[-1])}"
        if self.limits:
            return f"number, from {self.limits[0]} to {self.limits[1]}"
        if self.has_exponents:
            return f"numbers with exponents, kept as text; {self.distinct:,} different"
        return f"text, {self.distinct:,} different"


def guess_fields(records: Sequence[JsonRecord], names: Mapping[str, str]) -> tuple[FieldGuess, ...]:
    """A guess for each JSON name of ``names``, which maps them to field names, in that order."""
    lines = [record.line for record in records]
    return tuple(
        _guess(name, json_name, [record.members.get(json_name) for record in records], lines)
        for json_name, name in names.items()
    )


def _guess(name: str, json_name: str, values: Sequence[Any], lines: Sequence[int]) -> FieldGuess:
    texts = [text_of(value) for value in values]
    if any(isinstance(value, dict | list) for value in values):
        odd = odd_values(name, "string", values, lines)
        return FieldGuess(name, json_name, "string", texts, is_nested=True, odd=odd)
    present = [value for value in values if value is not None]
    words = absent_words(present)
    absent = words[0] if len(words) == 1 else None
    rest = [value for value in present if type(value) is not str or value != absent]
    kind, time = type_of(name, rest)
    if kind != "string":
        odd = None if time else odd_values(name, kind, values, lines)
        has_numbers = any(isinstance(value, Number) for value in rest)
        return FieldGuess(name, json_name, kind, texts, absent, time, has_numbers=has_numbers, odd=odd)
    return _text_field(name, json_name, texts, values, lines)


def _text_field(
    name: str, json_name: str, texts: Sequence[str | None], values: Sequence[Any], lines: Sequence[int]
) -> FieldGuess:
    """A field that stays text, and why. A text such as "-" is a value then."""
    numbers = [value for value in values if isinstance(value, Number)]
    has_exponents = any(re.search("[eE]", value) for value in numbers)
    return FieldGuess(
        name,
        json_name,
        "string",
        texts,
        has_exponents=has_exponents,
        has_numbers=bool(numbers),
        is_text_of_numbers=not has_exponents and len(numbers) == sum(value is not None for value in values) > 0,
        long_line=next((line for line, value in zip(lines, values, strict=True) if is_long_number(value)), None),
        odd=None if has_exponents else odd_values(name, "string", values, lines),
    )
