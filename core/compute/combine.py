"""Merges partial rows of a view as DataFrames; ``merge_sql`` does the same in SQL."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.keyed_rows import newest_rows
from core.compute.partial_rows import combine
from core.compute.stored_values import stored
from core.view import ROWS, Keyed, View


def merge_partials(view: View, parts: DataFrame) -> DataFrame:
    """Merges rows that have ``last_epoch``: adds up those of a rollup, and keeps the newest epoch of each unit."""
    if isinstance(view, Keyed):
        return newest_rows(view, parts).select(*map(stored, view.stored_columns))
    return combine(view, parts)


def comparable(view: View, rows: DataFrame, *, gaps: bool = False) -> DataFrame:
    """One row per ``identifying_columns``: equal rows of a keyed view become one with their count, without tombstones.

    With ``gaps`` in a compacted source, the number of records of a row depends on when it was read, so it is set to 0.
    """
    if not isinstance(view, Keyed):
        return rows.withColumn(ROWS, fn.lit(0).cast("bigint")) if gaps else rows
    columns = [column.name for column in view.stored_columns if column.name != ROWS]
    return rows.where(fn.col(ROWS) > 0).groupBy(*columns).agg(fn.sum(ROWS).alias(ROWS))
