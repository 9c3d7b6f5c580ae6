"""The comparison: every kind of difference is found, counted and named, and equal sides give none."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from core.compute.compare_rows import differences
from core.measures import Count, Sum
from core.view import Key, Rollup

VIEW = Rollup(
    name="sales",
    sources=("trades",),
    keys=(Key("shop", "shop"), Key("day", "day", "bigint")),
    measures=(Count("n"), Sum("volume", "size")),
)
COLUMNS = "shop string, day bigint, n bigint, volume decimal(38,0), _rows bigint"
Row = tuple[str | None, int, int, int | None, int]
BUILD: list[Row] = [("a", 1, 3, 30, 3), ("a", 2, 1, None, 1), ("b", 1, 2, 7, 2), (None, 1, 5, 50, 5)]


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    made = [(shop, day, n, None if volume is None else Decimal(volume), m) for shop, day, n, volume, m in rows]
    return spark.createDataFrame(made, COLUMNS)


def found(spark: SparkSession, build: list[Row], run: list[Row]) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """Key -> how often in the build, how often in the run, cells that differ; keys that are equal are left out."""
    rows = differences(VIEW, frame(spark, build), frame(spark, run)).collect()
    listed = [((r["shop"], r["day"]), (r["n_build"], r["n_run"], r["n_cells"])) for r in rows]
    assert len(listed) == len(dict(listed))
    return {key: counts for key, counts in listed if counts != (1, 1, 0)}


def test_equal_sides_have_no_difference_in_any_order(spark: SparkSession) -> None:
    assert found(spark, BUILD, BUILD[::-1]) == {}
    assert found(spark, [], []) == {}


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        ([("a", 1, 4, 30, 3), *BUILD[1:]], {("a", 1): (1, 1, 1)}),
        ([("a", 1, 4, 31, 4), *BUILD[1:]], {("a", 1): (1, 1, 3)}),
        ([BUILD[0], ("a", 2, 1, 0, 1), *BUILD[2:]], {("a", 2): (1, 1, 1)}),
        ([*BUILD[:3], (None, 1, 5, 51, 5)], {(None, 1): (1, 1, 1)}),
        (BUILD[1:], {("a", 1): (1, 0, 0)}),
        (BUILD[:3], {(None, 1): (1, 0, 0)}),
        ([*BUILD, ("c", 1, 1, 1, 1)], {("c", 1): (0, 1, 0)}),
        ([*BUILD, BUILD[2]], {("b", 1): (1, 2, 0)}),
    ],
    ids=[
        "one cell",
        "three cells",
        "null and zero",
        "null key",
        "key dropped",
        "null key dropped",
        "key added",
        "twice",
    ],
)
def test_a_planted_difference_is_found(
    spark: SparkSession, run: list[Row], wanted: dict[tuple[Any, ...], tuple[int, int, int]]
) -> None:
    assert found(spark, BUILD, run) == wanted
    swapped = {key: (b, a, cells) for key, (a, b, cells) in wanted.items()}
    assert found(spark, run, BUILD) == swapped
