"""Values as tables store them: of the declared type, and alike for Spark and Trino."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from core import measures


def stored_value(value: Column, kind: str) -> Column:
    """A value in its declared type; a time is cut to milliseconds, as Trino reads Delta times only to the millisecond.

    Else keys that differ in microseconds would be two rows in Spark and one in Trino.
    """
    typed = value.cast(kind)
    return fn.timestamp_millis(fn.unix_millis(typed)) if kind == "timestamp" else typed


def stored(column: measures.Column) -> Column:
    """A column of a frame as it is stored."""
    return stored_value(fn.col(column.name), column.type).alias(column.name)
