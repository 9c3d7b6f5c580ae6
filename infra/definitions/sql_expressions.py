"""Expressions of definitions: Spark analyses each, checks its type and runs it on probe rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.validation.mistake import Mistake
from infra.definitions.expression_types import TypeCheck
from infra.definitions.spark_errors import short_message

CLOCK = re.compile(
    r"\b(?:current_timestamp|current_date|current_time|localtimestamp)\b|\b(?:now|curdate|unix_timestamp)\(",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SqlExpression:
    """An expression of a definition, its place in the file and the check of its type."""

    kind: str
    name: str
    sql: str
    check: TypeCheck
    prefix: str = ""

    def mistake(self, text: str) -> Mistake:
        return Mistake(self.kind, self.name, self.prefix + text)


def expression_mistakes(frame: DataFrame, expressions: list[SqlExpression]) -> Iterator[Mistake]:
    """Analyses each expression, checks its type and runs it on the probe rows; all in one job unless one fails."""
    valid = []
    for expression in expressions:
        mistake = _analysed(frame, expression)
        if mistake is None:
            valid.append(expression)
        else:
            yield expression.mistake(mistake)
    try:
        frame.select(*(fn.expr(expression.sql).alias(f"_{n}") for n, expression in enumerate(valid))).collect()
    except PySparkException:
        for expression in valid:
            what = f"fails for extreme values: {expression.sql}"
            for failure in failures(expression.kind, expression.name, what, frame, fn.expr(expression.sql)):
                yield expression.mistake(failure.text)


def aggregate_mistakes(stored: DataFrame, expression: SqlExpression) -> Iterator[Mistake]:
    """Analyses an aggregate over stored rows and checks its type."""
    try:
        actual = stored.agg(fn.expr(expression.sql).alias("_value")).schema["_value"].dataType
    except PySparkException as e:
        yield expression.mistake(short_message(e))
        return
    mistake = expression.check(actual)
    if mistake:
        yield expression.mistake(f"{mistake}: {expression.sql}")


def _analysed(frame: DataFrame, expression: SqlExpression) -> str | None:
    try:
        selected = frame.select(fn.expr(expression.sql).alias("_value"))
    except PySparkException as e:
        return short_message(e)
    mistake = expression.check(selected.schema["_value"].dataType)
    if mistake:
        return f"{mistake}: {expression.sql}"
    plan = selected._jdf.queryExecution().analyzed()
    if CLOCK.search(expression.sql) or not plan.deterministic():
        return f"gives another result each time it is computed: {expression.sql}"
    return None


def failures(kind: str, name: str, what: str, frame: DataFrame, column: Any = None) -> Iterator[Mistake]:
    """The mistake of an expression that fails when it is computed."""
    try:
        (frame if column is None else frame.select(column)).collect()
    except PySparkException as e:
        yield Mistake(kind, name, f"{what}: {short_message(e)}")
