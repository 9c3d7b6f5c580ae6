"""Converts text to typed values, null where the text does not fit. The same for every format."""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core.topic import DECIMAL, Field

EARLIEST_MS = 31_536_000_000  # 1971-01-01 UTC
LATEST_MS = 7_258_118_400_000  # 2200-01-01 UTC, exclusive
_INTEGER = r"-?+[0-9]{1,18}+"  # possessive: no digit can follow, so backtracking is useless


def typed_value(field: Field, text: Column, pre_validated: Column) -> Column:
    """The value of ``text``, null when it is absent or does not fit the field's type, pattern or limits.

    Where ``pre_validated`` is true, the text already matched ``text_pattern(field)``.
    """
    present = text if field.absent is None else fn.when(text != field.absent, text)
    value = _value(field, present, pre_validated)
    violation = _violation(field, present, value, pre_validated)
    return value if violation is None else fn.when(~violation, value)


def text_pattern(field: Field) -> str | None:
    """The regular expression that a field's text must match; None when there is none."""
    if field.type == "string":
        return field.pattern
    if field.type == "boolean" or field.time_format is not None:
        return None
    return _decimal_pattern(field.type) if DECIMAL.match(field.type) else _INTEGER


def error_of(field: Field, text: Column, value: Column) -> Column:
    """Whether the field is wrong: it has a text that does not fit, or it is required and has no value."""
    if field.required:
        return value.isNull()
    present = text.isNotNull() if field.absent is None else text.isNotNull() & (text != field.absent)
    return present & value.isNull()


def is_valid_time(millis: Column) -> Column:
    """Whether epoch milliseconds are in the years 1971 to 2199."""
    return (millis >= EARLIEST_MS) & (millis < LATEST_MS)


def _value(field: Field, text: Column, pre_validated: Column) -> Column:
    if field.type == "string":
        return text
    if field.type == "boolean":
        return fn.when(text == "true", fn.lit(True)).when(text == "false", fn.lit(False))
    if field.type != "timestamp":
        return fn.when(pre_validated | _matches(text, text_pattern(field)), text.try_cast(field.type))
    if field.time_format is None:
        millis = fn.when(pre_validated | _matches(text, text_pattern(field)), text.try_cast("bigint"))
    else:
        millis = fn.unix_millis(fn.try_to_timestamp(text, fn.lit(field.time_format)))
    # The check is inside the call because timestamp_millis throws outside the range of a timestamp.
    return fn.timestamp_millis(fn.when(is_valid_time(millis), millis))


def _matches(text: Column, pattern: str | None) -> Column:
    return fn.rlike(text, fn.lit(rf"\A(?:{pattern})\z"))


def _decimal_pattern(kind: str) -> str:
    """Matches decimal text that needs no rounding and has no more digits before the point than the type."""
    match = DECIMAL.match(kind)
    assert match, kind
    precision, scale = int(match[1]), int(match[2])
    fraction = rf"(?:\.[0-9]{{1,{scale}}}+)?+" if scale else ""
    return rf"-?+[0-9]{{1,{max(precision - scale, 1)}}}+{fraction}"


def _violation(field: Field, text: Column, value: Column, pre_validated: Column) -> Column | None:
    checks: list[Column] = []
    if field.pattern is not None:
        matched = pre_validated if field.type == "string" else fn.lit(False)
        checks.append(~(matched | _matches(text, field.pattern)))
    if field.minimum is not None:
        checks.append(value < fn.lit(field.minimum).cast(field.type))
    if field.maximum is not None:
        checks.append(value > fn.lit(field.maximum).cast(field.type))
    return reduce(or_, checks) if checks else None
