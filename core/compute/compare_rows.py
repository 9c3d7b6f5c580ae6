"""What differs between two tables of one view: every key, every stored column, null-safe and as multisets."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.view import View

SHOWN = 10  # keys that differ are listed up to here; all are counted


def differences(view: View, build: DataFrame, run: DataFrame) -> DataFrame:
    """One row per key of either side: how often each side has it, both sides' columns, and how many of them differ.

    Keys are compared null-safe, and columns too; a side that has a key twice gives ``n_build`` or ``n_run`` of 2.
    """
    keys = [column.name for column in view.key_columns]
    cells = [column.name for column in view.stored_columns if column.name not in keys]
    sides = reduce(lambda a, b: a.unionByName(b), (_side(build, keys, cells, 1), _side(run, keys, cells, 0)))
    both = sides.groupBy(*keys).agg(
        fn.sum("_build").alias("n_build"),
        fn.sum(1 - fn.col("_build")).alias("n_run"),
        fn.max(fn.when(fn.col("_build") == 1, fn.col("_cells"))).alias("build"),
        fn.max(fn.when(fn.col("_build") == 0, fn.col("_cells"))).alias("run"),
    )
    unequal = [(~fn.col(f"build.{cell}").eqNullSafe(fn.col(f"run.{cell}"))).cast("bigint") for cell in cells]
    once = (fn.col("n_build") == 1) & (fn.col("n_run") == 1)
    return both.withColumn("n_cells", fn.when(once, reduce(lambda a, b: a + b, unequal)).otherwise(0))


def totals(found: DataFrame) -> dict[str, int]:
    """Keys on both sides, on one side only, and more than once; and cells that differ, over all keys."""

    def count(condition: Column) -> Column:
        return fn.count_if(condition)

    row: Any = found.agg(
        count((fn.col("n_build") > 0) & (fn.col("n_run") > 0)).alias("keys"),
        count(fn.col("n_run") == 0).alias("only_build"),
        count(fn.col("n_build") == 0).alias("only_run"),
        count((fn.col("n_build") > 1) | (fn.col("n_run") > 1)).alias("repeated"),
        fn.coalesce(fn.sum("n_cells"), fn.lit(0)).alias("cells"),
    ).first()
    return {name: int(value) for name, value in row.asDict().items()}


def different() -> Column:
    """Whether a key of ``differences`` is not once on both sides with equal cells."""
    return (fn.col("n_build") != 1) | (fn.col("n_run") != 1) | (fn.col("n_cells") > 0)


def first_differences(view: View, found: DataFrame) -> list[Any]:
    """The first keys that differ, with both rows, as JSON has them."""
    keys = [column.name for column in view.key_columns]
    text = fn.to_json(fn.struct(fn.struct(*keys).alias("key"), "n_build", "n_run", "build", "run"))
    ordered = found.where(different()).orderBy(*keys).limit(SHOWN)
    return [json.loads(row["text"]) for row in ordered.select(text.alias("text")).collect()]


def _side(frame: DataFrame, keys: list[str], cells: list[str], which: int) -> DataFrame:
    return frame.select(*keys, fn.struct(*cells).alias("_cells"), fn.lit(which).cast("bigint").alias("_build"))
