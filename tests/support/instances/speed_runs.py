"""Drives runs of the speed layer in the tests' own process and compares them with the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from core.catalog import Catalog
from core.compute.merge_sql import serving_sql, speed_part
from core.cut import Cut
from core.identifiers import Name, joined, quoted
from core.view import View
from infra.control.manifest import read_epochs
from infra.control.runs import Run
from infra.kafka import kafka_admin
from infra.lake import table_paths
from infra.settings import Settings
from infra.trino import metastore
from speed import job
from speed.epoch import compute_epoch
from speed.epoch.commit import EpochSink
from speed.epoch.prepared_plans import PreparedPlans, prepare
from speed.process import lifecycle
from tests.support.instances.layers import catalog_of, expected_rows, log, topic_of
from tests.support.oracle import view_oracle
from tests.support.oracle.view_oracle import Rows

_plans: dict[tuple[Path, Name], PreparedPlans | None] = {}


def _plan_once(
    spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, views: dict[Name, list[View]]
) -> PreparedPlans | None:
    """Keeps the plans of a run over its restarts: a restart changes nothing that they depend on."""
    key = (settings.data, run.id)
    if key not in _plans:
        _plans[key] = prepare(spark, settings, catalog, run, views)
    return _plans[key]


@contextmanager
def running(
    settings: Settings, spark: SparkSession, catalog: Catalog, run: Run
) -> Iterator[tuple[StreamingQuery, EpochSink]]:
    """Runs the query of a run. At the end stops it between epochs and raises its error, if any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compute_epoch, "prepare", _plan_once)
        with job.driving(spark, settings, catalog, run) as (query, sink):
            yield query, sink
            job.finish(query, sink)


def catch_up(settings: Settings, spark: SparkSession, catalog: Catalog, run: Run) -> None:
    with running(settings, spark, catalog, run) as (query, _):
        query.processAllAvailable()


def declared(settings: Settings, prefix: str, start: Cut | None = None, only: str = "trades_by") -> tuple[Catalog, Run]:
    catalog = catalog_of(settings, prefix, only)
    return catalog, lifecycle.declare(settings, catalog, start or Cut())


def served(settings: Settings, catalog: Catalog, run: Run, view: str) -> Rows:
    """The run's partial rows, merged with the SQL of the serving view. Fails on a duplicate key."""
    definition, table = catalog.view(view), joined(Name(view), run.id)
    metastore.register(
        settings, "speed", table, table_paths.relative(settings, table_paths.speed(settings, run.id, Name(view)))
    )
    part = speed_part(definition, quoted("lake", "speed", table), -3)
    result = metastore.query(settings, serving_sql(definition, [part]))
    width = len(definition.identifying_columns)
    rows_by_key: Rows = {}
    for row in result.rows:
        assert row[:width] not in rows_by_key
        rows_by_key[tuple(row[:width])] = dict(zip(result.columns[width:], row[width:], strict=True))
    return rows_by_key


def check(settings: Settings, catalog: Catalog, run: Run, prefix: str) -> None:
    """Fails unless the run's views equal the oracle's rows and the manifest counts every offset."""
    records = log(settings, topic_of(catalog))
    for view in run.views:
        assert served(settings, catalog, run, view) == expected_rows(view, prefix, records)
    epochs = read_epochs(settings, run.id)
    assert [epoch.number for epoch in epochs] == list(range(len(epochs)))
    assert [epoch.start for epoch in epochs] == [run.start, *(epoch.end for epoch in epochs[:-1])]
    assert epochs[-1].end == kafka_admin.end_offsets(settings, run.topics)
    counts = [count for epoch in epochs for count in epoch.counted.values()]
    bad = view_oracle.quarantined(records)
    assert sum(count.records for count in counts) == len(records)
    assert sum(count.quarantined for count in counts) == len(bad)
    assert sum(count.decoded for count in counts) == len(records) - len(bad)
    for view in run.views:
        windows = 5 if view.endswith("trade_stats") else 1
        assert sum(epoch.rows[view] for epoch in epochs) == windows * (len(records) - len(bad))
