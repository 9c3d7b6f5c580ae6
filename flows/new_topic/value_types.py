"""The type that all values of a field have."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from flows.new_topic.sample_file import Number
from flows.new_topic.time_formats import TimeFormat, time_format_of

_TIME_WORDS = re.compile(r"(^|_)(time|timestamp|ts|date|datetime|day|at|on|when|epoch|millis|created|updated)(_|$)")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")
_FLOAT_SCALE = 6  # more decimal places than these are those of floating-point numbers


def text_of(value: Any) -> str | None:
    """The text that decoding makes of a value, but for objects and arrays, whose spaces may differ."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def type_of(name: str, values: Sequence[Any]) -> tuple[str, TimeFormat | None]:
    """A type of core.topic for the values of a field of this name, and the format of times."""
    texts = [text_of(value) or "" for value in values]
    if not texts:
        return "string", None
    if set(texts) <= {"true", "false"}:
        return "boolean", None
    if not set(texts[0]).isdisjoint("-/:") or _TIME_WORDS.search(name):
        time = time_format_of(texts)
        if time:
            return "timestamp", time
    return _number_type(values, texts) or "string", None


def is_plain_number(value: Any) -> bool:
    """Whether a value is a number without an exponent, in quotes or not."""
    return isinstance(value, str) and _DECIMAL.fullmatch(value) is not None


def is_long_number(value: Any) -> bool:
    """Whether a value is a number, not in quotes, of more than 18 digits before the point."""
    match = _DECIMAL.fullmatch(value) if isinstance(value, Number) else None
    return match is not None and len(match[1]) > 18


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
