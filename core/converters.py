"""Text becomes a typed value, or null when it does not fit. The same for every format."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core.topic import Field

EARLIEST_MS = 31_536_000_000  # 1971-01-01 UTC
LATEST_MS = 7_258_118_400_000  # 2200-01-01 UTC, exclusive
DECIMAL = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)\Z")
_INTEGER = r"\A-?[0-9]{1,18}\z"


def typed(field: Field, text: Column) -> Column:
    """The value of ``text``, null when it is absent or does not fit the field's type, pattern or bounds."""
    given = text if field.absent is None else fn.when(text != field.absent, text)
    value = _value(field, given)
    wrong = _broken(field, given, value)
    return value if wrong is None else fn.when(~wrong, value)


def error_of(field: Field, text: Column, value: Column) -> Column:
    """Whether the field is wrong: no value though it is required, or though there was a text for one."""
    if field.required:
        return value.isNull()
    given = text.isNotNull() if field.absent is None else text.isNotNull() & (text != field.absent)
    return given & value.isNull()


def in_range(millis: Column) -> Column:
    """Whether epoch milliseconds are in 1971..2199."""
    return (millis >= EARLIEST_MS) & (millis < LATEST_MS)


def _value(field: Field, text: Column) -> Column:
    if field.type == "string":
        return text
    if field.type == "boolean":
        return fn.when(text == "true", fn.lit(True)).when(text == "false", fn.lit(False))
    if field.type == "timestamp":
        return _timestamp(field.time_format, text)
    plain = _INTEGER if field.type == "bigint" else _decimal_pattern(field.type)
    return fn.when(fn.rlike(text, fn.lit(plain)), text.try_cast(field.type))


def _timestamp(time_format: str | None, text: Column) -> Column:
    if time_format is None:
        millis = fn.when(fn.rlike(text, fn.lit(_INTEGER)), text.try_cast("bigint"))
    else:
        millis = fn.unix_millis(fn.try_to_timestamp(text, fn.lit(time_format)))
    # The guard is inside the call: timestamp_millis throws outside the range of a timestamp.
    return fn.timestamp_millis(fn.when(in_range(millis), millis))


def _decimal_pattern(kind: str) -> str:
    """Plain decimal text with no digit to round away, and no more before the point than fit."""
    found = DECIMAL.match(kind)
    assert found, kind
    precision, scale = int(found[1]), int(found[2])
    fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
    return rf"\A-?[0-9]{{1,{max(precision - scale, 1)}}}{fraction}\z"


def _broken(field: Field, text: Column, value: Column) -> Column | None:
    checks: list[Column] = []
    if field.pattern is not None:
        checks.append(~fn.rlike(text, fn.lit(rf"\A(?:{field.pattern})\z")))
    if field.minimum is not None:
        checks.append(value < fn.lit(field.minimum).cast(field.type))
    if field.maximum is not None:
        checks.append(value > fn.lit(field.maximum).cast(field.type))
    return reduce(or_, checks) if checks else None
