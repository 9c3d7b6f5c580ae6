"""The speed job: one Structured Streaming query drives one run until it is stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from core.catalog import Catalog
from core.errors import NEW_RUN, RESUME_RUN, LkError, Refused, TryAgain
from core.identifiers import Name
from core.positions import LogPartition
from infra.control import runs
from infra.control.manifest import last_epoch, last_epoch_number, read_up_to
from infra.control.run_roles import ServingWatch
from infra.control.runs import Run
from infra.control.stored_totals import store_totals
from infra.error_report import write_report
from infra.kafka import kafka_admin
from infra.kafka.spark_source import source_options
from infra.lake import delta, leases, table_paths
from infra.library_errors import explained, first_line
from infra.runtime import spark_versions
from infra.settings import Settings
from infra.spark.session import session, with_more_tasks
from speed.epoch.archive_prefix import keep_history, replay_prefix
from speed.epoch.commit import EpochSink, require_same_topics
from speed.epoch.compute_epoch import SMALL, EpochComputer
from speed.process import epoch_pacing, state_file
from speed.process.epoch_pacing import StopRequested
from speed.process.run_until_stopped import run_until_stopped
from speed.start_checks import (
    require_same_history,
    require_startable,
    require_unread_records,
    require_whole_checkpoint,
)
from speed.tables import schemas
from speed.tables.maintenance import Maintenance

CONF = {
    "spark.sql.adaptive.enabled": "false",
    # A prepared plan runs many times, and would keep a broadcast side as it was at the first run.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Keyed views: a list of so many hashes is compared with the statistics of each row group, and groups are small.
    "spark.sql.parquet.pushdown.inFilterThreshold": "1000",
    "spark.hadoop.parquet.block.row.count.limit": "5000",
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
}
_LARGEST_RESULT = "spark.driver.maxResultSize"  # of what one Spark job returns; what is collected is measured before
# On a local disk Spark's default manager starts twenty processes per epoch (chmod, readlink): a quarter of its time.
# This one does not exclude a second writer; the run's lease does.
_LOCAL_CHECKPOINT = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{spark_versions.installed_spark().checkpoints}.FileSystemBasedCheckpointFileManager"
    ),
}
_POLL_SECONDS = 1.0  # between two checks of the run that serves, the rate limit and the query; a signal acts at once
_MORE_TASKS = 2  # of a replay: beside a live run, more tasks get it a larger share of the CPU
# Words of Spark errors whose cause is the broker and not the data.
_BROKER_ERRORS = (
    "TimeoutException",
    "DisconnectException",
    "NetworkException",
    "BrokerNotAvailable",
    "No resolvable bootstrap",
)

# Words of Spark errors whose cause is a file of the checkpoint.
_CHECKPOINT_ERRORS = ("ChecksumException", "Incomplete log file", "Log file was malformed", "StreamMetadata")


def run_forever(settings: Settings, catalog: Catalog, run: Name) -> None:
    """Drives a run until SIGTERM, which stops it between two epochs.

    Raises Refused with the reason when the run cannot continue, TryAgain when it can be started again unchanged.
    """
    epoch = partial(last_epoch_number, settings, run)
    with run_until_stopped(settings, run, _app(run), epoch=epoch, resume=RESUME_RUN) as stop:
        _drive(settings, catalog, run, stop)


def _drive(settings: Settings, catalog: Catalog, run: Name, stop: threading.Event) -> None:
    declared = runs.read_run(settings, run)
    conf = CONF | {_LARGEST_RESULT: settings.spark_conf.get(_LARGEST_RESULT, "256m")}
    conf |= _LOCAL_CHECKPOINT if settings.checkpoint_root.startswith("/") else {}
    if declared.kind == "replay":
        conf |= {"spark.master": with_more_tasks(settings.spark_master, _MORE_TASKS)}
    spark = session(settings, _app(run), conf)
    with driving(spark, settings, catalog, declared) as (query, sink):
        state_file.write_state(settings, run, "running", epoch=last_epoch_number(settings, run))
        serving = ServingWatch(settings, run)
        while True:
            sink.pacing.serving = serving.is_serving()
            if sink.pacing.limit_changed():
                query = _restarted(spark, settings, query, sink)
            if not query.isActive or stop.wait(_POLL_SECONDS):
                break
        finish(query, sink)


def _restarted(spark: SparkSession, settings: Settings, query: StreamingQuery, sink: EpochSink) -> StreamingQuery:
    """Restarts the query on its checkpoint, with the epoch size of the new limit."""
    finish(query, sink)
    sink.pacing.stopping.clear()
    sink.failure = None
    return _start(spark, settings, sink)


def _app(run: Name) -> str:
    return f"speed-{run}"


@contextmanager
def driving(
    spark: SparkSession, settings: Settings, catalog: Catalog, run: Run
) -> Iterator[tuple[StreamingQuery, EpochSink]]:
    """The started query of a run, under the run's lease; the end of the block stops it at once."""
    table_paths.open_lake(settings)
    require_startable(settings, catalog, run)
    with leases.hold(settings, f"run_{run.id}") as lease:
        schemas.create(settings, catalog, run)
        for path in schemas.paths(settings, catalog, run):
            delta.require_whole(path)
            leases.fence(lease, path)
        store_totals(settings, run.id, lease)
        require_same_history(settings, run)
        require_whole_checkpoint(settings, run)
        keep_history(spark, settings, catalog, run, lease)
        replay_prefix(spark, settings, catalog, run, lease)
        maintenance = Maintenance(spark, settings, catalog, run, lease)
        computer = EpochComputer(spark, settings, catalog, run)
        sink = EpochSink(settings, catalog, run, lease, computer, maintenance.start_due)
        query = _start(spark, settings, sink)
        try:
            yield query, sink
        finally:
            epoch_pacing.release_priority(settings, run.id)
            sink.pacing.stopping.set()
            for active in spark.streams.active:
                active.stop()
            sink.log.close()
            maintenance.close()


def finish(query: StreamingQuery, sink: EpochSink) -> None:
    """Stops the query between two epochs. Raises the error that ended it before, if there is one."""
    sink.pacing.stopping.set()
    sink.idle.wait()
    query.stop()
    error: Any = query.exception()
    if sink.failure is None and error is None:
        return
    raise_reason(sink, error)


def raise_reason(sink: EpochSink, error: Any) -> None:
    """Raises an error that names why a query failed; returns if it ended after a request to stop."""
    failure = sink.failure
    if isinstance(failure, StopRequested):
        return
    if isinstance(failure, LkError):
        raise failure
    text = str(failure or error)
    try:
        require_same_topics(sink.settings, sink.run)
        require_unread_records(sink.settings, sink.run, last_epoch(sink.settings, sink.run.id))
    except TryAgain:
        raise TryAgain(
            f"Kafka stopped answering: {first_line(text)}", fix=f"start Kafka, then run {RESUME_RUN}"
        ) from None
    if any(word in text for word in _BROKER_ERRORS):
        raise TryAgain(f"Kafka did not answer: {first_line(text)}", fix=f"run {RESUME_RUN}")
    require_whole_checkpoint(sink.settings, sink.run)
    if any(word in text for word in _CHECKPOINT_ERRORS):
        where = table_paths.checkpoint(sink.settings, sink.run.id)
        raise Refused(f"the checkpoint is damaged: {first_line(text)}", where=where, fix=NEW_RUN)
    report = write_report(failure or error)
    explanation = explained(failure or error, report)
    if explanation is not None:
        raise explanation
    raise Refused(
        f"the run cannot continue: {first_line(text)}",
        where=f"run {sink.run.id}, after epoch {last_epoch_number(sink.settings, sink.run.id)}; {report}",
        fix=f"read the stack trace, then run {RESUME_RUN}",
    )


def _start(spark: SparkSession, settings: Settings, sink: EpochSink) -> StreamingQuery:
    run, last = sink.run, last_epoch(settings, sink.run.id)
    starting, position = _starting(settings, run), read_up_to(run, last)
    sink.log.sample(
        {LogPartition(topic, p): position.end(topic, p) for topic, offsets in starting.items() for p in offsets}
    )
    options = {
        **source_options(settings, SMALL),  # big epochs read the log themselves
        "subscribe": ",".join(sorted(run.topics)),
        "startingOffsets": json.dumps(starting),
        # Spark requests end offsets on the connection that still waits for its last fetch, partition by partition.
        "kafka.fetch.max.wait.ms": "1",
        "maxOffsetsPerTrigger": str(sink.pacing.offsets_per_epoch()),
    }
    records = spark.readStream.format("kafka").options(**options).load()
    writer = records.writeStream.foreachBatch(sink).queryName(str(run.id)).trigger(processingTime=settings.trigger)
    try:
        return writer.option("checkpointLocation", table_paths.checkpoint(settings, run.id)).start()
    except (PySparkException, Py4JError) as e:
        raise_reason(sink, e)
        raise


def _starting(settings: Settings, run: Run) -> dict[str, dict[int, int]]:
    """An explicit offset for every partition; "earliest" would hide that a prefix was removed."""
    counts = kafka_admin.partitions(settings, run.topics)
    return {str(topic): {p: run.origin.end(topic, p) for p in range(count)} for topic, count in counts.items()}
