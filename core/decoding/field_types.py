"""Text becomes a typed value, or null when it does not fit. The same for every format."""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core.topic import DECIMAL, Field

EARLIEST_MS = 31_536_000_000  # 1971-01-01 UTC
LATEST_MS = 7_258_118_400_000  # 2200-01-01 UTC, exclusive
_INTEGER = r"-?+[0-9]{1,18}+"  # what follows is never a digit, so nothing is given back


def typed_value(field: Field, text: Column, sure: Column) -> Column:
    """The value of ``text``, null when it is absent or does not fit the field's type, pattern or bounds.

    Where ``sure`` is true, the text is known to match ``form(field)``.
    """
    given = text if field.absent is None else fn.when(text != field.absent, text)
    value = _value(field, given, sure)
    wrong = _broken(field, given, value, sure)
    return value if wrong is None else fn.when(~wrong, value)


def text_pattern(field: Field) -> str | None:
    """The pattern that a field's text must match; None when any text will do, or no pattern tells."""
    if field.type == "string":
        return field.pattern
    if field.type == "boolean" or field.time_format is not None:
        return None
    return _decimal_form(field.type) if DECIMAL.match(field.type) else _INTEGER


def error_of(field: Field, text: Column, value: Column) -> Column:
    """Whether the field is wrong: no value though it is required, or though there was a text for one."""
    if field.required:
        return value.isNull()
    given = text.isNotNull() if field.absent is None else text.isNotNull() & (text != field.absent)
    return given & value.isNull()


def in_range(millis: Column) -> Column:
    """Whether epoch milliseconds are in 1971..2199."""
    return (millis >= EARLIEST_MS) & (millis < LATEST_MS)


def _value(field: Field, text: Column, sure: Column) -> Column:
    if field.type == "string":
        return text
    if field.type == "boolean":
        return fn.when(text == "true", fn.lit(True)).when(text == "false", fn.lit(False))
    if field.type != "timestamp":
        return fn.when(sure | _matches(text, text_pattern(field)), text.try_cast(field.type))
    if field.time_format is None:
        millis = fn.when(sure | _matches(text, text_pattern(field)), text.try_cast("bigint"))
    else:
        millis = fn.unix_millis(fn.try_to_timestamp(text, fn.lit(field.time_format)))
    # The guard is inside the call: timestamp_millis throws outside the range of a timestamp.
    return fn.timestamp_millis(fn.when(in_range(millis), millis))


def _matches(text: Column, pattern: str | None) -> Column:
    return fn.rlike(text, fn.lit(rf"\A(?:{pattern})\z"))


def _decimal_form(kind: str) -> str:
    """Plain decimal text with no digit to round away, and no more before the point than fit."""
    found = DECIMAL.match(kind)
    assert found, kind
    precision, scale = int(found[1]), int(found[2])
    fraction = rf"(?:\.[0-9]{{1,{scale}}}+)?+" if scale else ""
    return rf"-?+[0-9]{{1,{max(precision - scale, 1)}}}+{fraction}"


def _broken(field: Field, text: Column, value: Column, sure: Column) -> Column | None:
    checks: list[Column] = []
    if field.pattern is not None:
        known = sure if field.type == "string" else fn.lit(False)
        checks.append(~(known | _matches(text, field.pattern)))
    if field.minimum is not None:
        checks.append(value < fn.lit(field.minimum).cast(field.type))
    if field.maximum is not None:
        checks.append(value > fn.lit(field.maximum).cast(field.type))
    return reduce(or_, checks) if checks else None
