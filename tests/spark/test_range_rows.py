"""A range rebuild takes its range from the events and everything else from the base. It finds differences outside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from batch.range_rebuild import require_same_outside
from core.compute.partial_rows import partial
from core.compute.range_rows import rebuilt, starts_around
from core.decoding.decode import decode
from core.errors import Refused
from core.identifiers import Name
from core.range_rebuild import RangeRebuild
from core.view import Rollup
from tests.support.oracle.view_oracle import Record, Rows, expected
from tests.support.records.frames import by_key, from_kafka, stored, stored_only
from tests.support.records.views import rollup
from views import trade_stats, trades, trades_by_day

STATS, DAYS = rollup(trade_stats.VIEW), rollup(trades_by_day.VIEW)
MIDNIGHT = datetime(2026, 3, 14, tzinfo=UTC)
SECOND = timedelta(seconds=1)
# Two records per second, from four seconds before midnight.
RECORDS = [
    Record(
        "trades", n % 4, n // 4, 0, b"A", b'{"type":"bid","ticker":"A","price":%d,"size":1,"event_time":%d}' % (n, at)
    )
    for n, at in enumerate(range(1_773_446_396_000, 1_773_446_412_000, 500), 1)
]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return stored(spark, decode(trades.TOPIC, from_kafka(spark, RECORDS)))


def rebuild(view: Rollup, first: datetime, end: datetime) -> RangeRebuild:
    return RangeRebuild(first, end, {Name(view.name): Name("b000001")})


def full_build(spark: SparkSession, view: Rollup, events: DataFrame) -> DataFrame:
    return stored(spark, partial(view, trades.TOPIC, events))


def with_defects(view: Rollup, table: DataFrame, first: datetime, end: datetime) -> DataFrame:
    """The table with wrong counts in a range of windows and without the last window of the range."""
    assert view.window
    start = fn.col(view.window.name)
    is_inside = (start >= fn.lit(first)) & (start < fn.lit(end))
    measure = view.measures[0].name
    last_window = fn.lit(end - timedelta(milliseconds=view.window.pane))
    return table.where(start != last_window).withColumn(
        measure, fn.when(is_inside, fn.col(measure) + 7).otherwise(fn.col(measure))
    )


def expected_rows(view: Rollup) -> Rows:
    return stored_only(view, expected(view.name, RECORDS))


@pytest.mark.parametrize(
    ("view", "first", "end"),
    [
        (STATS, MIDNIGHT + SECOND, MIDNIGHT + 6 * SECOND),
        (STATS, MIDNIGHT - timedelta(days=1), MIDNIGHT + timedelta(days=1)),
        (DAYS, MIDNIGHT, MIDNIGHT + timedelta(days=1)),
    ],
    ids=["hopping", "all", "tumbling"],
)
def test_a_range_is_computed_again_exactly(
    spark: SparkSession, events: DataFrame, view: Rollup, first: datetime, end: datetime
) -> None:
    rebuild_range, correct = rebuild(view, first, end), full_build(spark, view, events)
    base = stored(spark, with_defects(view, correct, first, end))
    assert by_key(view, base) != expected_rows(view)
    rebuilt_rows = stored(spark, rebuilt(view, rebuild_range, base, [(trades.TOPIC, events)]))
    assert by_key(view, rebuilt_rows) == expected_rows(view)
    assert "keys changed" in require_same_outside(view, rebuild_range, base, rebuilt_rows)


def test_what_is_outside_is_copied_and_not_computed(spark: SparkSession, events: DataFrame) -> None:
    first, end = MIDNIGHT + SECOND, MIDNIGHT + 3 * SECOND
    rebuild_range = rebuild(STATS, first, end)
    base = stored(spark, full_build(spark, STATS, events).withColumn("trades", fn.col("trades") + 7))
    rebuilt_rows = stored(spark, rebuilt(STATS, rebuild_range, base, [(trades.TOPIC, events)]))
    before, after = by_key(STATS, base), by_key(STATS, rebuilt_rows)
    recomputed = {("A", first), ("A", first + SECOND)}
    assert {key for key in before if before[key] != after[key]} == recomputed
    assert {key: after[key] for key in recomputed} == {key: expected_rows(STATS)[key] for key in recomputed}
    assert require_same_outside(STATS, rebuild_range, base, rebuilt_rows).endswith(
        f"2 of 2 keys changed; {len(before) - 2} are as in b000001"
    )


@pytest.mark.parametrize("what", ["cell", "dropped", "added", "twice"])
def test_a_planted_difference_outside_is_found(spark: SparkSession, events: DataFrame, what: str) -> None:
    rebuild_range = rebuild(STATS, MIDNIGHT + SECOND, MIDNIGHT + 3 * SECOND)
    base = full_build(spark, STATS, events)
    is_first_window = fn.col("window_start") == fn.lit(MIDNIGHT)
    row = base.where(is_first_window)
    changed_rows = {
        "cell": base.withColumn("price_max", fn.when(is_first_window, fn.lit(1)).otherwise(fn.col("price_max"))),
        "dropped": base.where(~is_first_window),
        "added": base.unionByName(row.withColumn("ticker", fn.lit("B"))),
        "twice": base.unionByName(row),
    }[what]
    with pytest.raises(Refused, match="changes 1 keys of trade_stats outside") as refused:
        require_same_outside(STATS, rebuild_range, base, changed_rows)
    assert "2026-03-14T00:00:00" in refused.value.what


def test_starts_around_a_time() -> None:
    assert DAYS.window
    noon = MIDNIGHT + timedelta(hours=12)
    assert starts_around(DAYS.window, noon) == (MIDNIGHT, MIDNIGHT + timedelta(days=1))
    assert starts_around(DAYS.window, MIDNIGHT) == (MIDNIGHT, MIDNIGHT)
    old = datetime(1969, 12, 31, 1, tzinfo=UTC)
    assert starts_around(DAYS.window, old)[0] == datetime(1969, 12, 31, tzinfo=UTC)
