"""Compares two tables of one view: every key and every stored column, null-safe and as multisets."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.view import View

# They stand beside the keys of the view, none of which begins with an underscore.
N_BUILD, N_RUN, BUILD, RUN, N_CELLS = "_n_build", "_n_run", "_build", "_run", "_n_cells"


def differences(view: View, build: DataFrame, run: DataFrame) -> DataFrame:
    """One row per key of either side: its row counts, both rows, and ``N_CELLS`` that differ.

    Keys and columns are compared null-safe. ``N_CELLS`` is 0 unless each side has the key exactly once.
    """
    keys = [column.name for column in view.identifying_columns]
    cells = [column.name for column in view.stored_columns if column.name not in keys]
    sides = _side(build, keys, cells, 1).unionByName(_side(run, keys, cells, 0))
    compared = sides.groupBy(*keys).agg(
        fn.sum("_is_build").alias(N_BUILD),
        fn.sum(1 - fn.col("_is_build")).alias(N_RUN),
        fn.max(fn.when(fn.col("_is_build") == 1, fn.col("_cells"))).alias(BUILD),
        fn.max(fn.when(fn.col("_is_build") == 0, fn.col("_cells"))).alias(RUN),
    )
    unequal = [(~fn.col(f"{BUILD}.{cell}").eqNullSafe(fn.col(f"{RUN}.{cell}"))).cast("bigint") for cell in cells]
    on_both_once = (fn.col(N_BUILD) == 1) & (fn.col(N_RUN) == 1)
    return compared.withColumn(N_CELLS, fn.when(on_both_once, reduce(Column.__add__, unequal)).otherwise(0))


def different() -> Column:
    """Whether a row of ``differences`` is a difference: not exactly once on both sides with equal cells."""
    return (fn.col(N_BUILD) != 1) | (fn.col(N_RUN) != 1) | (fn.col(N_CELLS) > 0)


def _side(frame: DataFrame, keys: list[str], cells: list[str], is_build: int) -> DataFrame:
    return frame.select(*keys, fn.struct(*cells).alias("_cells"), fn.lit(is_build).cast("bigint").alias("_is_build"))
