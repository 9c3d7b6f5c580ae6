"""Parts of a view become one, as DataFrames: what merge.py says in SQL, for both kinds of view."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.keyed_rows import newest_rows
from core.compute.rollup import combine
from core.view import ROWS, Keyed, View


def merge_partials(view: View, parts: DataFrame) -> DataFrame:
    """Rows of a run's epochs, which have ``last_epoch``, as stored columns: added up, or of each unit the newest."""
    if isinstance(view, Keyed):
        return newest_rows(view, parts).select(*(column.name for column in view.stored_columns))
    return combine(view, parts)


def comparable(view: View, rows: DataFrame, *, gaps: bool = False) -> DataFrame:
    """One row per ``key_columns``: of a keyed view equal rows are counted, tombstones left out.

    With ``gaps`` in its source, how many records a row was made of depends on when they were read: it is no matter.
    """
    if not isinstance(view, Keyed):
        return rows.withColumn(ROWS, fn.lit(0).cast("bigint")) if gaps else rows
    same = [column.name for column in view.stored_columns if column.name != ROWS]
    return rows.where(fn.col(ROWS) > 0).groupBy(*same).agg(fn.sum(ROWS).alias(ROWS))
