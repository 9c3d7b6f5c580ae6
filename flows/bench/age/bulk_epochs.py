"""Commits many epochs of a run at once: the same rows in the same tables as one by one, in fewer Delta commits.

Spark decodes the records of many epochs together. Each row then belongs to the epoch that reads its record, so the
project's own functions count and group epoch by epoch. The run's own maintenance works between the commits.
"""

from __future__ import annotations

import math
import multiprocessing
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.partial_rows import partial, record_counts
from core.cut import Span
from core.decoding.decode import decode
from core.event_columns import ERROR, RAW_COLUMNS
from core.identifiers import Name
from core.record_counts import Totals
from core.topic import Topic
from core.view import Key, Rollup
from flows.bench.age.epoch_plan import EpochPlan
from flows.bench.age.manifest_rows import ManifestPart, manifest_rows, totals_of_tables
from infra.control import runs
from infra.control.manifest import last_epoch
from infra.control.runs import Run
from infra.kafka.spark_source import read_spans
from infra.lake import delta, idempotent_writes, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from speed.tables import schemas
from speed.tables.maintenance import VACUUM_EPOCHS, Maintenance

PART = 30_000  # epochs that Spark computes together
_MANIFEST_PART = 10_000  # rows of one commit to the manifest: 2 MB, which compaction merges into row groups of its own
_EPOCH = "_epoch"
_WORKERS = 2


@dataclass(frozen=True)
class BulkRun:
    """A run whose lease this process holds, and the session that computes its epochs."""

    spark: SparkSession
    settings: Settings
    catalog: Catalog
    run: Run
    lease: Lease

    @property
    def rollups(self) -> dict[Name, Rollup]:
        """The run's rollups; keyed views get no rows."""
        views = {view: self.catalog.view(view) for view in sorted(self.run.views)}
        return {name: view for name, view in views.items() if isinstance(view, Rollup)}


def commit(bulk: BulkRun, plan: EpochPlan, *, partials: bool) -> None:
    """Commits the epochs of a plan, which continues the run, and maintains the tables meanwhile.

    Without ``partials`` only the quarantine and the manifest get rows: a build holds what these epochs add to views.
    """
    last = last_epoch(bulk.settings, bulk.run.id)
    total, waiting = last.total if last else Totals(), deque[Future[pa.Table]]()
    maintenance = Maintenance(bulk.spark, bulk.settings, bulk.catalog, bulk.run, bulk.lease)
    with ProcessPoolExecutor(_WORKERS, multiprocessing.get_context("spawn")) as pool:
        for first, number in plan.parts(PART):
            counts = _append_rows(bulk, plan, first, number, partials=partials)
            versions = {v: delta.version(table_paths.speed(bulk.settings, bulk.run.id, v)) for v in bulk.run.views}
            waiting.append(pool.submit(manifest_rows, ManifestPart(plan, first, number, counts, total, versions)))
            total += totals_of_tables(counts)
            if len(waiting) > _WORKERS:
                _append_manifest(bulk, waiting.popleft())
            _maintain(maintenance, first, number)
        for rows in waiting:
            _append_manifest(bulk, rows)
    _maintain(maintenance, plan.first, plan.last)
    maintenance.close()


def append_partials(bulk: BulkRun, plan: EpochPlan) -> None:
    """Appends the partial rows of the epochs of a plan, without their manifest rows."""
    _append_rows(bulk, plan, plan.first, plan.last, partials=True)


def _maintain(maintenance: Maintenance, first: int, last: int) -> None:
    """Runs what is due after the last epoch after which the run folds and vacuums; nothing if that was before."""
    often = math.lcm(maintenance.settings.fold_epochs, VACUUM_EPOCHS)
    newest = last - last % often
    if newest >= first:
        maintenance.start_due(newest)
        maintenance.drain()


def _append_rows(bulk: BulkRun, plan: EpochPlan, first: int, last: int, *, partials: bool) -> dict[Name, pa.Table]:
    """Appends the quarantined records and the partial rows of some epochs; returns the counts of each topic."""
    counts = {}
    spans = plan.end_of(last).since(plan.end_of(first - 1))
    parts: dict[Name, list[pa.Table]] = {view: [] for view in bulk.rollups}
    for topic in sorted({span.topic for span in spans}):
        events = _events(bulk, plan, topic, [span for span in spans if span.topic == topic]).persist()
        views = [view for view in bulk.catalog.reading(topic) if view.name in bulk.run.views]
        counts[topic] = _counts(record_counts(views, events.withColumn("_partition", fn.struct("_partition", _EPOCH))))
        bad = events.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR, fn.col(_EPOCH).alias("epoch"))
        _append(bulk, table_paths.quarantine(bulk.settings, bulk.run.id), "_quarantine", bad.toArrow(), last)
        for view in views:
            if partials and isinstance(view, Rollup):
                parts[Name(view.name)].append(_partials(view, bulk.catalog.topic(topic), events))
        events.unpersist()
    for name, tables in parts.items():
        if tables:
            _append(bulk, table_paths.speed(bulk.settings, bulk.run.id, name), name, pa.concat_tables(tables), last)
    return counts


def _events(bulk: BulkRun, plan: EpochPlan, topic: Name, spans: list[Span]) -> DataFrame:
    records = read_spans(bulk.spark, bulk.settings, spans, task_records=PART)
    return decode(bulk.catalog.topic(topic), records).withColumn(_EPOCH, fn.expr(plan.number_sql(topic)))


def _counts(counted: DataFrame) -> pa.Table:
    place = fn.col("_partition")
    named = counted.withColumns({"partition": place["_partition"], "epoch": place[_EPOCH]})
    return named.drop("_topic", "_partition", "first_offset", "last_offset").toArrow()


def _partials(view: Rollup, topic: Topic, events: DataFrame) -> pa.Table:
    """The partial rows of each epoch: the view, grouped by the epoch too."""
    by_epoch = replace(view, keys=(*view.keys, Key("first_epoch", _EPOCH, "bigint")))
    rows = partial(by_epoch, topic, events).withColumn("last_epoch", fn.col("first_epoch")).sort("first_epoch")
    schema = schemas.partial_schema(view)
    return rows.select(*schema.names).toArrow().cast(schema)


def _append(bulk: BulkRun, path: str, part: str, rows: pa.Table, last: int) -> None:
    if rows.num_rows:
        stored = pa.schema(delta.table(path).schema().to_arrow())
        rows = rows.select(stored.names).cast(stored)
        idempotent_writes.append_once(path, rows, runs.txn_app(bulk.run.id, part), last, lease=bulk.lease)


def _append_manifest(bulk: BulkRun, part: Future[pa.Table]) -> None:
    path, rows = table_paths.manifest(bulk.settings, bulk.run.id), part.result()
    for first in range(0, rows.num_rows, _MANIFEST_PART):
        piece = rows.slice(first, _MANIFEST_PART)
        number = piece.column("number")[-1].as_py()
        idempotent_writes.append_once(path, piece, runs.txn_app(bulk.run.id), number, lease=bulk.lease)
