"""Drives a route's run: per epoch, one Kafka transaction for each partition that has records, in the executors."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Set
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from core.catalog import Catalog
from core.compute.route_output import with_output
from core.decoding.decode import decode
from core.errors import Refused, from_document
from core.identifiers import Name
from core.positions import LogPartition
from infra import faults
from infra.control import route_runs
from infra.control.route_runs import RouteRun
from infra.kafka import topic_admin
from infra.kafka.spark_source import read_spans
from infra.lake import leases
from infra.settings import Settings
from infra.spark.session import session
from speed.process import state_file
from speed.process.run_until_stopped import run_until_stopped
from speed.routes import planner
from speed.routes.copy_task import COLUMNS, OUTCOME, CopyTask, copier, copy
from speed.routes.outputs import output_topics
from speed.routes.planner import require_same_definition, require_same_topics, tasks

_CONF = {"spark.sql.adaptive.enabled": "false", "spark.ui.retainedJobs": "20", "spark.ui.retainedStages": "20"}
_RESUME = "`lk route start` with its route, or `lk route replay` if the run is a replay"
_POLL_SECONDS = 0.2  # between two checks of a log without new records


def run_forever(settings: Settings, catalog: Catalog, id: Name) -> None:
    """Drives a run until SIGTERM, which stops it between two epochs. Raises the reason why it cannot continue."""
    app = f"route-{id}"
    with run_until_stopped(settings, id, app, epoch=lambda: -1, resume=_RESUME) as stop:
        run = route_runs.read_run(settings, id)
        _check(settings, catalog, run)
        with leases.hold(settings, f"run_{id}") as lease:
            planner.require_log_of_run(settings, run)
            tasks(settings, catalog, run)  # finds a lost position, and refuses a log that lacks records, before it runs
            spark = session(settings, app, _CONF)
            state_file.write_state(settings, id, "running")
            _drive(spark, settings, catalog, run, lease, stop)


def epoch(spark: SparkSession, settings: Settings, catalog: Catalog, run: RouteRun) -> int:
    """Copies new records, up to a limit; returns how many partitions had any.

    Records that another process copied meanwhile are skipped. Raises the first error after all partitions have ended.
    """
    faults.at("route.0_before_epoch")
    planned = tasks(settings, catalog, run)
    if planned:
        rows = _records(spark, settings, catalog, run, planned).mapInArrow(copier(planned), OUTCOME).collect()
        for row in rows:
            if row["error"]:
                raise from_document(json.loads(row["error"]))
        _pass_over(planned, {LogPartition(row["topic"], row["partition"]) for row in rows})
        faults.at("route.2_after_epoch")
    return len(planned)


def _pass_over(planned: Mapping[LogPartition, CopyTask], copied: Set[LogPartition]) -> None:
    """Moves the positions of the planned partitions in which no task saw a committed record."""
    for partition in planned.keys() - copied:
        copy(planned[partition], ())


def _drive(
    spark: SparkSession,
    settings: Settings,
    catalog: Catalog,
    run: RouteRun,
    lease: leases.Lease,
    stop: threading.Event,
) -> None:
    while not stop.is_set():
        lease.check()
        if not epoch(spark, settings, catalog, run):
            stop.wait(_POLL_SECONDS)


def _records(
    spark: SparkSession, settings: Settings, catalog: Catalog, run: RouteRun, planned: Mapping[LogPartition, CopyTask]
) -> DataFrame:
    """The planned records of every source with their outputs, one Spark task for each partition."""
    route = catalog.route(run.route)
    frames = []
    for source in sorted({topic for topic, _ in planned}):
        spans = [task.slice.span for (topic, _), task in planned.items() if topic == source]
        records = read_spans(spark, settings, spans, task_records=max(span.size for span in spans), group=None)
        events = with_output(route, source, decode(catalog.topic(source), records))
        frames.append(events.select(*COLUMNS))
    return reduce(DataFrame.unionAll, frames)


def _check(settings: Settings, catalog: Catalog, run: RouteRun) -> None:
    if run.ended:
        raise Refused(f"run {run.id} has ended", where=f"route {run.route}", fix=f"`lk route replay {run.route}`")
    require_same_definition(catalog, run)
    require_same_topics(settings, run)
    route = catalog.route(run.route)
    outputs = [name for live in (False, True) for name in output_topics(route, run.id, live=live).values()]
    topic_admin.raise_largest(settings, outputs, route.sources)
