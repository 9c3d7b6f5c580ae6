"""Finds the few values that keep a field from the type that nearly all of its values have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flows.new_topic.sample_file import Number
from flows.new_topic.time_formats import time_format_of
from flows.new_topic.value_types import is_long_number, is_plain_number, text_of, type_of

ABSENT = ("", "-", "N/A", "n/a", "NA", "null", "NULL", "None", "nan", "NaN")  # texts that mean "no value"
A_TIME = "a time"
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class OddValues:
    """``fitting`` of ``seen`` values are of ``kind``: a time, a number, or true or false.

    ``line`` has the first other value, ``shown`` as messages show it. ``absent`` are the texts for "no value" where
    nothing else is odd; a field can have one.
    """

    kind: str
    fitting: int
    seen: int
    line: int
    shown: str
    absent: tuple[str, ...] = ()


def absent_words(values: Sequence[Any]) -> list[str]:
    """The texts among the values that mean "no value", sorted."""
    return sorted({value for value in values if _is_absent(value)})


def odd_values(name: str, type: str, values: Sequence[Any], lines: Sequence[int]) -> OddValues | None:
    """What keeps a field from another type than ``type``, with the lines of its values; None is a field without value.

    The result is None where fewer than nine of ten values have one other type.
    """
    present = [(line, value) for line, value in zip(lines, values, strict=True) if value is not None]
    words = absent_words([value for _, value in present])
    for fits in _tests([value for _, value in present]):
        fitting = [value for (_, value), is_fit in zip(present, fits, strict=True) if is_fit]
        others = [pair for pair, is_fit in zip(present, fits, strict=True) if not is_fit]
        wrong = [(line, value) for line, value in others if not _is_absent(value)]
        kind = _kind(type_of(name, fitting)[0])
        is_clear = 10 * len(fitting) >= 9 * (len(fitting) + len(wrong)) and (wrong or len(words) > 1)
        if is_clear and kind not in (None, _kind(type)):
            line, value = (wrong or others)[0]
            return OddValues(kind, len(fitting), len(present), line, _shown(value), () if wrong else tuple(words))
    return None


def _tests(values: Sequence[Any]) -> Iterator[list[bool]]:
    """For each kind of values, which of them are of it. Quoted numbers may be meant as text, so they come later."""
    families = [_family(value) for value in values]
    common = Counter(family for family in families if family).most_common(1)
    yield [bool(common) and family == common[0][0] for family in families]
    numbers = [is_plain_number(value) and not is_long_number(value) for value in values]
    yield [is_number and isinstance(value, Number) for is_number, value in zip(numbers, values, strict=True)]
    yield numbers
    yield [text_of(value) in ("true", "false") for value in values]


def _family(value: Any) -> str | None:
    """What the times of one field have in common; None for a value that is no time."""
    time = time_format_of([value]) if isinstance(value, str) and value[:1].isdigit() else None
    return time.family if time else None


def _kind(type: str) -> str | None:
    if type == "bigint" or type.startswith("decimal"):
        return "a number"
    return {"timestamp": A_TIME, "boolean": "true or false"}.get(type)


def _is_absent(value: Any) -> bool:
    return type(value) is str and value in ABSENT


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object or array"
    text = (text_of(value) or "")[:_LONGEST_SHOWN]
    return ascii(text) if type(value) is str else text
