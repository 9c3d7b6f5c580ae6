"""Parts of a view become one, as DataFrames: what merge.py says in SQL, for both kinds of view."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.partial import combine
from core.units import newest
from core.view import ROWS, Keyed, View


def merged(view: View, parts: DataFrame) -> DataFrame:
    """Rows of a run's epochs, which have ``last_epoch``, as stored columns: added up, or of each unit the newest."""
    if isinstance(view, Keyed):
        return newest(view, parts).select(*(column.name for column in view.stored_columns))
    return combine(view, parts)


def comparable(view: View, rows: DataFrame) -> DataFrame:
    """One row per ``key_columns``: of a keyed view equal rows are counted, tombstones left out."""
    if not isinstance(view, Keyed):
        return rows
    same = [column.name for column in view.stored_columns if column.name != ROWS]
    return rows.where(fn.col(ROWS) > 0).groupBy(*same).agg(fn.sum(ROWS).alias(ROWS))
