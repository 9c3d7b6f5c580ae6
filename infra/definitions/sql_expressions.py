"""Expressions of definitions: Spark analyses each, checks its type and runs it on probe rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.validation.mistake import Mistake
from infra.definitions.expression_types import TypeCheck
from infra.definitions.spark_errors import SPARK_ERRORS, short_message

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


def expression_mistakes(
    frame: DataFrame, expressions: Sequence[SqlExpression], derived: Sequence[SqlExpression] = ()
) -> Iterator[Mistake]:
    """Analyses each expression, checks its type and runs it on the probe rows; all in one job unless one fails.

    ``derived`` expressions contain others: Spark is asked about them if the others have no mistake.
    """
    valid: list[SqlExpression] = []
    containing: list[SqlExpression] = []
    yield from _analysis(frame, expressions, valid)
    if len(valid) == len(expressions):
        yield from _analysis(frame, derived, containing)
    if not valid:
        return
    columns = [fn.expr(expression.sql).alias(f"_{n}") for n, expression in enumerate([*valid, *containing])]
    try:
        frame.select(*columns).collect()
    except SPARK_ERRORS:
        yield from _run_alone(frame, valid) or _run_alone(frame, containing)


def _run_alone(frame: DataFrame, expressions: Sequence[SqlExpression]) -> list[Mistake]:
    mistakes: list[Mistake] = []
    for expression in expressions:
        what = f"fails for extreme values: {expression.sql}"
        failing = failures(expression.kind, expression.name, what, frame, fn.expr(expression.sql))
        mistakes += [expression.mistake(failure.text) for failure in failing]
    return mistakes


def _analysis(frame: DataFrame, expressions: Sequence[SqlExpression], valid: list[SqlExpression]) -> Iterator[Mistake]:
    """The mistakes that need no job; expressions without one are appended to ``valid``."""
    for expression in expressions:
        mistake = _analysed(frame, expression)
        if mistake is None:
            valid.append(expression)
        else:
            yield expression.mistake(mistake)


def aggregate_mistakes(stored: DataFrame, expression: SqlExpression) -> Iterator[Mistake]:
    """Analyses an aggregate over stored rows and checks its type."""
    try:
        actual = stored.agg(fn.expr(expression.sql).alias("_value")).schema["_value"].dataType
    except SPARK_ERRORS as e:
        yield expression.mistake(short_message(e))
        return
    mistake = expression.check(actual)
    if mistake:
        yield expression.mistake(f"{mistake}: {expression.sql}")


def _analysed(frame: DataFrame, expression: SqlExpression) -> str | None:
    try:
        selected = frame.select(fn.expr(expression.sql).alias("_value"))
    except SPARK_ERRORS as e:
        return short_message(e)
    mistake = expression.check(selected.schema["_value"].dataType)
    if mistake:
        return f"{mistake}: {expression.sql}"
    plan = _analysed_plan(selected)
    if not _is_of_one_row(frame, plan):
        return f"needs other rows than its own, as an aggregate, a window function or explode does: {expression.sql}"
    if CLOCK.search(expression.sql) or not plan.deterministic():
        return f"gives another result each time it is computed: {expression.sql}"
    return None


def _is_of_one_row(frame: DataFrame, plan: Any) -> bool:
    """Whether a plan only projects the frame: an aggregate, a window function and a generator add other nodes."""
    return bool(plan.nodeName() == "Project" and plan.children().head().equals(_analysed_plan(frame)))


def _analysed_plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def failures(kind: str, name: str, what: str, frame: DataFrame, column: Any = None) -> Iterator[Mistake]:
    """The mistake of an expression that fails when it is computed."""
    try:
        (frame if column is None else frame.select(column)).collect()
    except SPARK_ERRORS as e:
        yield Mistake(kind, name, f"{what}: {short_message(e)}")
