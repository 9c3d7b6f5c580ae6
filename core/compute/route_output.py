"""Computes the output of a route for each record, as a column over decoded events."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.event_columns import ERROR
from core.route import Route

OUTPUT = "_output"  # name of the output; null if no output takes the record


def with_output(route: Route, source: str, events: DataFrame) -> DataFrame:
    """Adds ``OUTPUT``: the first output with a predicate that holds, else the output without a predicate.

    No predicate holds for an invalid record.
    """
    is_valid = fn.col(ERROR).isNull()
    chosen = fn.lit(None).cast("string")
    for output in reversed(route.outputs):
        predicates = [fn.expr(when.sql) for when in output.when if when.source == source]
        if not output.when:
            chosen = fn.lit(output.name)
        for predicate in predicates:
            chosen = fn.when(is_valid & predicate, fn.lit(output.name)).otherwise(chosen)
    return events.withColumn(OUTPUT, chosen)
