"""Spark's types by the names that Trino has for them."""

from __future__ import annotations

_NAMES = {"string": "varchar", "int": "integer", "timestamp": "timestamp(3) with time zone"}


def trino_type(spark_type: str) -> str:
    """The name of a column's type in Trino; most have the same name in both."""
    return _NAMES.get(spark_type, spark_type)
