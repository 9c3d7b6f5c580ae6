"""Guesses the type of each field from its values in a sample."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flows.new_topic.sample_file import JsonRecord, Number
from flows.new_topic.time_formats import TimeFormat, iso_utc, time_format_of

NESTED = "nested"
_TIME_WORDS = re.compile(r"(^|_)(time|timestamp|ts|date|datetime|day|at|on|when|epoch|millis|created|updated)(_|$)")
_ABSENT = ("", "-", "N/A", "n/a", "NA", "null", "NULL", "None", "nan", "NaN")  # texts that mean "no value"
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")
_FLOAT_SCALE = 6  # more decimal places than these are those of floating-point numbers


@dataclass(frozen=True)
class FieldGuess:
    """A guessed field. ``texts`` has its text in each record as decoding sees it, None where there is no value.

    ``type`` is a type of core.topic. ``seen`` counts the records with a value, ``distinct`` its different texts.
    """

    name: str
    json_name: str
    type: str
    texts: Sequence[str | None]
    absent: str | None = None
    time: TimeFormat | None = None
    is_nested: bool = False
    has_exponents: bool = False

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
    return tuple(
        _guess(name, json_name, [record.members.get(json_name) for record in records])
        for json_name, name in names.items()
    )


def _guess(name: str, json_name: str, values: Sequence[Any]) -> FieldGuess:
    texts = [_text(value) for value in values]
    if any(isinstance(value, dict | list) for value in values):
        return FieldGuess(name, json_name, "string", texts, is_nested=True)
    present = [value for value in values if value is not None]
    absent_words = sorted({value for value in present if type(value) is str and value in _ABSENT})
    absent = absent_words[0] if len(absent_words) == 1 else None
    rest = [value for value in present if type(value) is not str or value != absent]
    kind, time = _type(name, rest)
    if kind == "string":  # a text such as "-" is a value then
        absent = None
    has_exponents = any(isinstance(value, Number) and re.search("[eE]", value) for value in rest)
    return FieldGuess(name, json_name, kind, texts, absent, time, has_exponents=has_exponents and kind == "string")


def _text(value: Any) -> str | None:
    """The text that decoding makes of a value, but for objects and arrays, whose spaces may differ."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def _type(name: str, values: Sequence[Any]) -> tuple[str, TimeFormat | None]:
    texts = [_text(value) or "" for value in values]
    if not texts:
        return "string", None
    if set(texts) <= {"true", "false"}:
        return "boolean", None
    if not set(texts[0]).isdisjoint("-/:") or _TIME_WORDS.search(name):
        time = time_format_of(texts)
        if time:
            return "timestamp", time
    return _number_type(values, texts) or "string", None


def _number_type(values: Collection[Any], texts: Sequence[str]) -> str | None:
    """A type for numbers; None for quoted whole numbers, which are mostly ids, and for numbers that no type holds."""
    quoted = [value for value in values if not isinstance(value, Number)]
    if all(_INTEGER.fullmatch(text) for text in texts):
        return None if quoted else "bigint"
    matches = [_DECIMAL.fullmatch(text) for text in texts]
    digits = [(len(match[1]), len(match[2] or "")) for match in matches if match]
    quoted_scales = {len(str(value).partition(".")[2]) for value in quoted}
    if len(digits) < len(texts) or len(quoted_scales) > 1 or quoted_scales == {0}:
        return None
    whole, scale = max(pair[0] for pair in digits), max(pair[1] for pair in digits)
    if scale > _FLOAT_SCALE:
        return "decimal(28,18)" if scale <= 18 and whole <= 9 else None
    scale = 2 if scale == 1 else scale
    if whole > 18:
        return None
    return f"decimal({18 if whole + scale <= 15 else 28},{scale})"
