"""Comparing two tables of a view counts every kind of difference. Equal tables have none."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from core.compute.combine import comparable
from core.compute.compare_rows import N_BUILD, N_CELLS, N_RUN, differences, different
from core.measures import Count, Sum
from core.view import Key, Keyed, Result, Rollup
from infra.control.comparisons import RowDifference
from infra.spark.count_differences import count_differences, first_differences
from tests.support.records.sales import SalesRow, sales

VIEW = Rollup(
    name="sales",
    sources=("trades",),
    keys=(Key("shop", "shop"), Key("day", "day", "bigint")),
    measures=(Count("n"), Sum("volume", "size")),
)
KEYED = Keyed(
    "prices",
    sources=("trades",),
    keys=(Key("shop", "shop"),),
    results=(Result("at", "bigint"), Result("price", "decimal(10,2)")),
    query="SELECT shop, at, price FROM {trades}",
)
BUILD: list[SalesRow] = [("a", 1, 3, 30, 3), ("a", 2, 1, None, 1), ("b", 1, 2, 7, 2), (None, 1, 5, 50, 5)]


def differing(
    spark: SparkSession, build: list[SalesRow], run: list[SalesRow]
) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """Key -> (rows in the build, rows in the run, differing cells), for the keys that differ."""
    rows = differences(VIEW, sales(spark, build), sales(spark, run)).collect()
    counts = [((r["shop"], r["day"]), (r[N_BUILD], r[N_RUN], r[N_CELLS])) for r in rows]
    assert len(counts) == len(dict(counts))
    return {key: counts_of_key for key, counts_of_key in counts if counts_of_key != (1, 1, 0)}


def test_equal_sides_have_no_difference_in_any_order(spark: SparkSession) -> None:
    assert differing(spark, BUILD, BUILD[::-1]) == {}
    assert differing(spark, [], []) == {}


@pytest.mark.parametrize(
    ("run", "expected"),
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
    spark: SparkSession, run: list[SalesRow], expected: dict[tuple[Any, ...], tuple[int, int, int]]
) -> None:
    assert differing(spark, BUILD, run) == expected
    swapped = {key: (b, a, cells) for key, (a, b, cells) in expected.items()}
    assert differing(spark, run, BUILD) == swapped


def test_the_first_differences_have_both_rows_and_their_nulls(spark: SparkSession) -> None:
    run: list[SalesRow] = [("a", 1, 3, 31, 3), *BUILD[2:], ("c", 1, 1, None, 1)]
    compared = differences(VIEW, sales(spark, BUILD), sales(spark, run))
    assert first_differences(VIEW, compared) == (
        RowDifference(
            {"shop": "a", "day": 1}, 1, 1, {"n": 3, "volume": 30, "_rows": 3}, {"n": 3, "volume": 31, "_rows": 3}
        ),
        RowDifference({"shop": "a", "day": 2}, 1, 0, {"n": 1, "volume": None, "_rows": 1}, None),
        RowDifference({"shop": "c", "day": 1}, 0, 1, None, {"n": 1, "volume": None, "_rows": 1}),
    )


def test_rows_of_a_keyed_view_are_paired_with_the_most_similar_row_of_their_key(spark: SparkSession) -> None:
    columns = "shop string, at bigint, price decimal(10,2), _segment bigint, _rows bigint"
    build = spark.createDataFrame([("a", 1, Decimal("1.50"), 0, 1), ("b", 1, Decimal("9.00"), 0, 1)], columns)
    run = spark.createDataFrame([("a", 1, Decimal("2.50"), 0, 1), ("b", 1, Decimal("9.00"), 0, 2)], columns)
    first = first_differences(KEYED, differences(KEYED, comparable(KEYED, build), comparable(KEYED, run)))
    assert [(row.key, row.build, row.run, row.differing) for row in first] == [
        (
            {"shop": "a"},
            {"at": 1, "price": "1.50", "_segment": 0, "_rows": 1},
            {"at": 1, "price": "2.50", "_segment": 0, "_rows": 1},
            ("price",),
        ),
        (
            {"shop": "b"},
            {"at": 1, "price": "9.00", "_segment": 0, "_rows": 1},
            {"at": 1, "price": "9.00", "_segment": 0, "_rows": 2},
            ("_rows",),
        ),
    ]


@pytest.mark.parametrize("name", ["run", "build", "n_build", "n_run", "n_cells", "key"])
def test_a_key_and_a_result_may_have_any_name_that_a_view_may_have(spark: SparkSession, name: str) -> None:
    rollup = Rollup("by", ("trades",), (Key(name, "shop"),), (Count("n"),))
    keyed = replace(KEYED, results=(Result(name),), query=f"SELECT shop, price AS {name} FROM {{trades}}")
    for view in (rollup, keyed):
        names = [column.name for column in view.stored_columns]
        build, run = (spark.sql(f"SELECT {', '.join(f'{n} AS {column}' for column in names)}") for n in (1, 2))
        assert count_differences(differences(view, build, build))["keys"] == 1
        compared = differences(view, build, run)
        assert compared.where(different()).count() == 2
        assert [row.key for row in first_differences(view, compared)] == [{names[0]: 1}, {names[0]: 2}]
