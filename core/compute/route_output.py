"""Where a record goes: the meaning of a route, as a column over decoded events."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.event_columns import ERROR
from core.route import Route

OUTPUT = "_output"  # name of the output; null when none wants the record


def with_output(route: Route, source: str, events: DataFrame) -> DataFrame:
    """Decoded events of one source with ``OUTPUT``: the first output whose predicate holds, else what takes the rest.

    A record that does not decode satisfies no predicate.
    """
    good = fn.col(ERROR).isNull()
    chosen = fn.lit(None).cast("string")
    for output in reversed(route.outputs):
        wanted = [fn.expr(when.sql) for when in output.when if when.source == source]
        if not output.when:
            chosen = fn.lit(output.name)
        for predicate in wanted:
            chosen = fn.when(good & predicate, fn.lit(output.name)).otherwise(chosen)
    return events.withColumn(OUTPUT, chosen)
