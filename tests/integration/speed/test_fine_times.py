"""Times finer than a millisecond, which Trino does not read: Spark and Trino merge them to the same rows."""

from __future__ import annotations

from functools import reduce
from operator import itemgetter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from core.catalog import Catalog
from core.compute.combine import comparable, merge_partials
from core.compute.keyed_rows import result_rows, rows_of_units, source_rows, touched_units
from core.compute.large_records import cut_large
from core.compute.partial_rows import partial
from core.compute.shared_panes import pane_rows, partial_from_panes
from core.cut import Cut
from core.decoding.decode import decode
from core.identifiers import Name
from core.measures import Count, Latest, Max, Min
from core.topic import Field, Json, Topic, Version
from core.view import Key, Keyed, Result, Rollup, View
from infra.control.runs import Run
from infra.lake import delta, idempotent_writes, table_paths
from infra.settings import Settings
from speed.tables import schemas
from tests.support.instances.speed_runs import served
from tests.support.oracle.view_oracle import Record, moment
from tests.support.records.frames import dicts, from_kafka

T0 = 1_763_712_000_000
TOPIC = Topic("clicks", Json((Version(1, ("micros",)),)), (Field("micros", "bigint"),))
KEYS = (Key("at", "timestamp_micros(micros)", type="timestamp"),)
FINE = "timestamp_micros(micros)"
ROLLUP = Rollup(
    "fine_rollup",
    ("clicks",),
    keys=KEYS,
    measures=(
        Count("clicks"),
        Min("first", FINE, type="timestamp"),
        Max("last", FINE, type="timestamp"),
        Latest("latest", FINE, type="timestamp"),
    ),
)
KEYED = Keyed(
    "fine_keyed",
    ("clicks",),
    keys=KEYS,
    query="SELECT at, max(timestamp_micros(micros)) AS last, count(1) AS clicks FROM {clicks} GROUP BY at",
    results=(Result("last", "timestamp"), Result("clicks", "bigint")),
)
CATALOG = Catalog({Name("clicks"): TOPIC}, {Name(view.name): view for view in (ROLLUP, KEYED)})
# Two clicks in one millisecond, in two epochs, and one in the next.
EPOCHS = ((100, 1_999), (900,))


def decoded(spark: SparkSession, micros: tuple[int, ...], first: int) -> DataFrame:
    values = [b'{"micros":%d}' % (T0 * 1_000 + more) for more in micros]
    return decode(TOPIC, from_kafka(spark, [Record("clicks", 0, first + n, T0, None, v) for n, v in enumerate(values)]))


def epoch_rows(view: View, epochs: list[DataFrame]) -> list[DataFrame]:
    """What each epoch stores."""
    if isinstance(view, Rollup):
        return [partial(view, TOPIC, events) for events in epochs]
    rows = [source_rows(view, TOPIC, events) for events in epochs]
    so_far = [reduce(DataFrame.unionAll, rows[: n + 1]) for n in range(len(rows))]
    return [
        rows_of_units(view, touched_units(view, [new]), result_rows(view, {"clicks": kept}))
        for new, kept in zip(rows, so_far, strict=True)
    ]


@pytest.mark.parametrize("view", [ROLLUP, KEYED], ids=lambda view: view.name)
def test_they_are_the_same_rows_in_spark_and_in_trino(stack: Settings, spark: SparkSession, view: View) -> None:
    name = Name(view.name)
    run = Run(Name("fine_times"), {name: CATALOG.digest(name)}, {}, {}, Cut())
    path = table_paths.speed(stack, run.id, name)
    delta.create(path, schemas.partial_schema(view))
    for number, rows in enumerate(epoch_rows(view, [decoded(spark, EPOCHS[0], 0), decoded(spark, EPOCHS[1], 2)])):
        tagged = schemas.tagged(rows.toArrow(), schemas.partial_schema(view), first_epoch=number, last_epoch=number)
        idempotent_writes.append_once(path, tagged, "rows", number)
    merged = comparable(view, merge_partials(view, spark.read.format("delta").load(path)))
    in_spark = [{k: v for k, v in row.items() if not k.startswith("_")} for row in dicts(merged)]
    key = [column.name for column in view.identifying_columns]
    in_trino = [dict(zip(key, at, strict=True)) | row for at, row in served(stack, CATALOG, run, view.name).items()]
    by_time = itemgetter("at")
    assert sorted(in_spark, key=by_time) == sorted(in_trino, key=by_time) == expected(view)


def expected(view: View) -> list[dict[str, Any]]:
    times = [(moment(T0), 2), (moment(T0 + 1), 1)]
    if isinstance(view, Keyed):
        return [{"at": at, "last": at, "clicks": clicks} for at, clicks in times]
    return [{"at": at, "clicks": clicks, "first": at, "last": at, "latest": at} for at, clicks in times]


def test_shared_panes_give_the_same(spark: SparkSession) -> None:
    events = decoded(spark, (100, 1_999, 900), 0)
    rows = dicts(partial_from_panes(ROLLUP, pane_rows([ROLLUP], cut_large(events))))
    assert sorted(map(repr, rows)) == sorted(map(repr, dicts(partial(ROLLUP, TOPIC, events))))
