"""Checks of the Spark type that an expression of a definition has: each gives the mistake, or None."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import ArrayType, BooleanType, DataType, DecimalType, IntegralType, StringType

from core.measures import Count, Max, Measure, Min, Sum

TypeCheck = Callable[[DataType], str | None]


def must_be_boolean(actual: DataType) -> str | None:
    """The expression must be a boolean."""
    return None if isinstance(actual, BooleanType) else f"must be a boolean, is {actual.simpleString()}"


def must_be_string(actual: DataType) -> str | None:
    """The expression must be a string."""
    return None if isinstance(actual, StringType) else f"must be a string, is {actual.simpleString()}"


def must_be_array(actual: DataType) -> str | None:
    """The expression must be an array."""
    return None if isinstance(actual, ArrayType) else f"must be an array, is {actual.simpleString()}"


def must_be_time(actual: DataType) -> str | None:
    """The expression must be a timestamp or a date."""
    return None if actual.simpleString() in ("timestamp", "date") else f"must be a time, is {actual.simpleString()}"


def must_be_exact(actual: DataType) -> str | None:
    """The expression must not be floating point."""
    inexact = actual.simpleString() in ("float", "double")
    return f"is {actual.simpleString()}, which does not add up exactly: use div, or decimals" if inexact else None


def must_fit_type(declaration: str) -> TypeCheck:
    """The expression must have the declared type, or one that converts to it without loss."""

    def check(actual: DataType) -> str | None:
        name, expected = actual.simpleString(), DataType.fromDDL(declaration)
        if name == expected.simpleString() or name == "void":
            return None
        if isinstance(actual, IntegralType) and isinstance(expected, IntegralType):
            return None if name != "bigint" else "is bigint, declared int"
        if isinstance(actual, DecimalType) and isinstance(expected, DecimalType):
            fits = actual.precision - actual.scale <= expected.precision - expected.scale
            return None if fits and actual.scale <= expected.scale else f"is {name}, declared {declaration}"
        return f"is {name}, declared {declaration}"

    return check


def must_fit_measure(measure: Measure) -> TypeCheck:
    """The expression must have a type that the measure aggregates exactly."""
    if isinstance(measure, Count):
        return must_be_boolean
    if isinstance(measure, Sum):
        return _summed(measure.scale)
    return (
        must_fit_type(measure.type)
        if isinstance(measure, Min | Max)
        else must_fit_type(getattr(measure, "type", "string"))
    )


def _summed(scale: int) -> TypeCheck:
    def check(actual: DataType) -> str | None:
        if isinstance(actual, IntegralType):
            return None
        if isinstance(actual, DecimalType):
            return None if actual.scale <= scale else f"has {actual.scale} decimal places, declared scale {scale}"
        return f"must be an integer or a decimal, is {actual.simpleString()}; floating point does not add up exactly"

    return check
