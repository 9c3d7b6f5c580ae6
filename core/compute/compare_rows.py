"""Compares two tables of one view: every key and every stored column, null-safe and as multisets."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.view import View


def differences(view: View, build: DataFrame, run: DataFrame) -> DataFrame:
    """One row per key of either side: its row counts ``n_build`` and ``n_run``, both rows and ``n_cells`` that differ.

    Keys and columns are compared null-safe. ``n_cells`` is 0 unless each side has the key exactly once.
    """
    keys = [column.name for column in view.identifying_columns]
    cells = [column.name for column in view.stored_columns if column.name not in keys]
    sides = _side(build, keys, cells, 1).unionByName(_side(run, keys, cells, 0))
    compared = sides.groupBy(*keys).agg(
        fn.sum("_build").alias("n_build"),
        fn.sum(1 - fn.col("_build")).alias("n_run"),
        fn.max(fn.when(fn.col("_build") == 1, fn.col("_cells"))).alias("build"),
        fn.max(fn.when(fn.col("_build") == 0, fn.col("_cells"))).alias("run"),
    )
    unequal = [(~fn.col(f"build.{cell}").eqNullSafe(fn.col(f"run.{cell}"))).cast("bigint") for cell in cells]
    on_both_once = (fn.col("n_build") == 1) & (fn.col("n_run") == 1)
    return compared.withColumn("n_cells", fn.when(on_both_once, reduce(Column.__add__, unequal)).otherwise(0))


def different() -> Column:
    """Whether a row of ``differences`` is a difference: not exactly once on both sides with equal cells."""
    return (fn.col("n_build") != 1) | (fn.col("n_run") != 1) | (fn.col("n_cells") > 0)


def _side(frame: DataFrame, keys: list[str], cells: list[str], is_build: int) -> DataFrame:
    return frame.select(*keys, fn.struct(*cells).alias("_cells"), fn.lit(is_build).cast("bigint").alias("_build"))
