"""Grains: what several views make of one aggregation is what each makes of the events alone."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from pyspark.sql import SparkSession

from core.compute.rollup import record_counts
from core.compute.shared_panes import bad_records, can_share, counts_from_panes, pane_rows, partial_from_panes
from core.event_columns import RAW_COLUMNS
from core.view import Explode, Rollup, Window
from tests.spark.test_views import CATALOG, _logs, few, rows_of, trades, wanted
from tests.support.frames import dicts
from tests.support.oracle.view_oracle import Record
from tests.support.views import rollups

VIEWS = rollups(CATALOG.reading("trades"))


@few
@given(log=_logs())
def test_every_view_of_the_grains_is_what_the_oracle_says(spark: SparkSession, log: list[Record]) -> None:
    found = pane_rows(VIEWS, trades(spark, log))
    for view in VIEWS:
        assert rows_of(view.name, partial_from_panes(view, found)) == wanted(view.name, log)


@few
@given(log=_logs())
def test_the_ledger_of_the_grains_is_that_of_the_events(spark: SparkSession, log: list[Record]) -> None:
    events = trades(spark, log)
    bounds = {f"bytes_{view.name}" for view in VIEWS}
    found = [
        {k: v for k, v in row.items() if k not in bounds}
        for row in dicts(counts_from_panes(VIEWS, pane_rows(VIEWS, events)))
    ]
    assert sorted(found, key=lambda row: row["_partition"]) == sorted(
        dicts(record_counts(VIEWS, events)), key=lambda row: row["_partition"]
    )


@few
@given(log=_logs())
def test_bad_records_stay_whole_each_on_its_own(spark: SparkSession, log: list[Record]) -> None:
    twice = [*log, log[-1]._replace(offset=log[-1].offset + 1, value=b"{}")]
    events = trades(spark, twice)
    bad = [tuple(row) for row in bad_records(pane_rows(VIEWS, events)).collect()]
    plain = events.where("_error is not null").select(*RAW_COLUMNS, "_error").collect()
    assert sorted(bad, key=str) == sorted(map(tuple, plain), key=str)
    assert bad


def test_only_views_that_nest_share_grains() -> None:
    stats, by_day = VIEWS
    assert can_share([stats, by_day])
    assert can_share([by_day])
    assert not can_share([])
    assert not can_share([stats, _with(by_day, window=Window("day", size=1_500))])
    assert not can_share([stats, _with(by_day, where="size > 1")])
    assert not can_share([stats, _with(by_day, keys=())])
    assert not can_share([stats, _with(by_day, explode=Explode("one", "array(1)"))])
    assert can_share([stats, _with(by_day, window=None)])


def _with(view: Rollup, **changes: object) -> Rollup:
    return dataclasses.replace(view, **changes)  # type: ignore[arg-type]
