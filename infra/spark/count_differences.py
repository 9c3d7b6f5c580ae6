"""Runs the Spark jobs of a comparison: counts the differences, and reads the first ones."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.compare_rows import different
from core.view import View

LISTED = 10  # keys that differ are listed up to here; all are counted


def count_differences(compared: DataFrame) -> dict[str, int]:
    """Counts keys on both sides, on one side only and repeated, and cells that differ; one Spark job.

    ``compared`` is the result of ``core.compute.compare_rows.differences``.
    """
    row: Any = compared.agg(
        fn.count_if((fn.col("n_build") > 0) & (fn.col("n_run") > 0)).alias("keys"),
        fn.count_if(fn.col("n_run") == 0).alias("only_build"),
        fn.count_if(fn.col("n_build") == 0).alias("only_run"),
        fn.count_if((fn.col("n_build") > 1) | (fn.col("n_run") > 1)).alias("repeated"),
        fn.coalesce(fn.sum("n_cells"), fn.lit(0)).alias("cells"),
    ).first()
    return {name: int(value) for name, value in row.asDict().items()}


def first_differences(view: View, compared: DataFrame) -> list[Any]:
    """The first ``LISTED`` keys that differ, with the rows of both sides, as parsed JSON; one Spark job."""
    keys = [column.name for column in view.key_columns]
    text = fn.to_json(fn.struct(fn.struct(*keys).alias("key"), "n_build", "n_run", "build", "run"))
    ordered = compared.where(different()).orderBy(*keys).limit(LISTED)
    return [json.loads(row["text"]) for row in ordered.select(text.alias("text")).collect()]
