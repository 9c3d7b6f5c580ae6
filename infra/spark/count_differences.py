"""Runs the Spark jobs of a comparison: counts the differences, and reads the first ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.compute.compare_rows import BUILD, N_BUILD, N_CELLS, N_RUN, RUN, different
from core.compute.row_pairs import Row, pair_rows
from core.view import Keyed, View
from infra.control.comparisons import RowDifference

LISTED = 10  # keys that differ are listed up to here; all are counted


def count_differences(compared: DataFrame) -> dict[str, int]:
    """Counts keys on both sides, on one side only and repeated, and cells that differ; one Spark job.

    ``compared`` is the result of ``core.compute.compare_rows.differences``.
    """
    row: Any = compared.agg(
        fn.count_if((fn.col(N_BUILD) > 0) & (fn.col(N_RUN) > 0)).alias("keys"),
        fn.count_if(fn.col(N_RUN) == 0).alias("only_build"),
        fn.count_if(fn.col(N_BUILD) == 0).alias("only_run"),
        fn.count_if((fn.col(N_BUILD) > 1) | (fn.col(N_RUN) > 1)).alias("repeated"),
        fn.coalesce(fn.sum(N_CELLS), fn.lit(0)).alias("cells"),
    ).first()
    return {name: int(value) for name, value in row.asDict().items()}


def first_differences(view: View, compared: DataFrame) -> tuple[RowDifference, ...]:
    """The first ``LISTED`` keys that differ, with the rows of both sides; one Spark job.

    All columns of a keyed view identify a row, so a row of one side is paired with the most similar one of the other.
    """
    keys = [column.name for column in view.identifying_columns]
    parts = {"n_build": N_BUILD, "n_run": N_RUN, "build": BUILD, "run": RUN}
    row = fn.struct(fn.struct(*keys).alias("key"), *(fn.col(column).alias(name) for name, column in parts.items()))
    text = fn.to_json(row, {"ignoreNullFields": "false"})
    ordered = compared.where(different()).orderBy(*keys).limit(LISTED)
    texts = [answer["text"] for answer in ordered.select(text.alias("text")).collect()]
    listed = [RowDifference(**json.loads(row_text, parse_float=str)) for row_text in texts]
    return tuple(_paired(view, listed)) if isinstance(view, Keyed) else tuple(listed)


def _paired(view: Keyed, listed: Sequence[RowDifference]) -> list[RowDifference]:
    build = [{**item.key, **item.build} for item in listed if item.build is not None]
    run = [{**item.key, **item.run} for item in listed if item.run is not None]
    key = [column.name for column in view.keys]
    return [_difference(key, *pair) for pair in pair_rows(key, build, run)]


def _difference(key: Sequence[str], build: Row | None, run: Row | None) -> RowDifference:
    def cells(row: Row | None) -> Row | None:
        return None if row is None else {name: value for name, value in row.items() if name not in key}

    names = build or run or {}
    return RowDifference(
        {name: names[name] for name in key}, int(build is not None), int(run is not None), cells(build), cells(run)
    )
