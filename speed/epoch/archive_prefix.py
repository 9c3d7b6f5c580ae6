"""What a run reads from the archive before its first epoch from Kafka.

A replay of a log without its first records computes this prefix as one epoch: views first, the manifest row last, each
committed once under app ids of its own. A live run that starts at a build's cut keeps the events of its keyed views up
to there: their results are in the build, but units that later events touch need them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_events import pack
from core.compute.keyed_rows import result_rows, source_rows
from core.compute.partial_rows import partial, record_counts, totals_of
from core.cut import Cut
from core.event_columns import ERROR, RAW_COLUMNS
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import RecordCounts, Totals
from core.view import Keyed, Rollup
from infra import faults
from infra.control import runs
from infra.control.manifest import ARCHIVE_EPOCH, Epoch, epoch_row
from infra.control.runs import Run
from infra.lake import archive, checksums, delta, idempotent_writes, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from speed.tables import schemas


def replay_prefix(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, lease: Lease) -> None:
    """Computes every view from the archive up to ``run.prefix``, unless this was committed or the run has no prefix.

    Raises Refused when the archive of the run's decoders ends before ``run.prefix``.
    """
    manifest = table_paths.manifest(settings, run.id)
    if not run.prefix.ends or idempotent_writes.txn_version(manifest, runs.archive_app(run.id)) is not None:
        return
    events = {topic: _events(spark, settings, catalog, run, topic, run.prefix) for topic in run.topics}
    reading = {topic: [view for view in catalog.reading(topic) if view.name in run.views] for topic in events}
    counts = [row for topic, frame in events.items() for row in record_counts(reading[topic], frame).collect()]
    total = totals_of((row.asDict() for row in counts), run.views)
    _require_complete(catalog, run, total)
    faults.at("replay.1_before_prefix")
    versions = {view: _write(settings, catalog, run, view, events, lease) for view in sorted(run.views)}
    _quarantine(settings, run, events, lease)
    faults.at("replay.1_before_prefix_manifest")
    now = datetime.now(UTC)
    epoch = Epoch(ARCHIVE_EPOCH, run.start, run.prefix, total.partitions, total.rows, versions, 0, now, total)
    idempotent_writes.append_once(manifest, epoch_row(epoch), runs.archive_app(run.id), 0, lease=lease)


def keep_history(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, lease: Lease) -> None:
    """Keeps the events of keyed views below ``run.start``. Raises as ``replay_prefix``.

    Of views whose events are kept it reads nothing: a restart does not need the archive.
    """
    keyed = [view for name in sorted(run.views) if isinstance(view := catalog.view(name), Keyed)]
    missing = [view for view in keyed if run.start.ends and not _is_kept(settings, run, view)]
    sources = sorted({Name(source) for view in missing for source in view.sources})
    events = {topic: _events(spark, settings, catalog, run, topic, run.start) for topic in sources}
    for view in missing:
        _keep(settings, catalog, run, view, events, lease)


def _is_kept(settings: Settings, run: Run, view: Keyed) -> bool:
    path, app = _kept_events(settings, run, view)
    return idempotent_writes.txn_version(path, app) is not None


def _kept_events(settings: Settings, run: Run, view: Keyed) -> tuple[str, str]:
    """The table of a view's events, and the app id under which those before the first epoch are appended."""
    return table_paths.events(settings, run.id, Name(view.name)), runs.archive_app(run.id, f"{view.name}/events")


def _events(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, topic: Name, cut: Cut) -> DataFrame:
    fix = "run `lk batch`, then start a new run, or replay"
    archived = archive.archive_up_to(settings, catalog.topic(topic), run.decoders[topic], cut, fix)
    return archive.rows_below(spark, archived, cut, Cut())


def _require_complete(catalog: Catalog, run: Run, total: Totals) -> None:
    for topic, partition, end in run.prefix.ends:
        records = total.partitions.get(str(LogPartition(topic, partition)), RecordCounts()).records
        gaps = catalog.topic(topic).compacted
        archive.require_records(records, end, gaps=gaps, where=f"topic {topic}, partition {partition}")


def _write(
    settings: Settings, catalog: Catalog, run: Run, view: Name, events: dict[Name, DataFrame], lease: Lease
) -> int:
    path, definition = table_paths.speed(settings, run.id, view), catalog.view(view)
    if isinstance(definition, Keyed):
        _keep(settings, catalog, run, definition, events, lease)
        sources = {s: source_rows(definition, catalog.topic(s), events[Name(s)]) for s in definition.sources}
        rows = result_rows(definition, sources)
    else:
        rows = _partial_rows(catalog, definition, events)
    schema = schemas.partial_schema(definition)
    _append(
        path,
        rows,
        schema.names,
        runs.archive_app(run.id, view),
        lease,
        first_epoch=ARCHIVE_EPOCH,
        last_epoch=ARCHIVE_EPOCH,
    )
    return delta.version(path)


def _partial_rows(catalog: Catalog, view: Rollup, events: dict[Name, DataFrame]) -> DataFrame:
    parts = [
        partial(view, catalog.topic(source), events[Name(source)]) for source in view.sources if Name(source) in events
    ]
    return reduce(DataFrame.unionByName, parts)


def _keep(
    settings: Settings, catalog: Catalog, run: Run, view: Keyed, events: dict[Name, DataFrame], lease: Lease
) -> None:
    rows = [pack(view, catalog.topic(source), events[Name(source)]) for source in view.sources]
    path, app = _kept_events(settings, run, view)
    packed, order = reduce(DataFrame.unionByName, rows), schemas.event_order(view)
    ordered = packed.sortWithinPartitions(order) if view.reach else packed.orderBy(order)
    _append(path, ordered, schemas.events_schema().names, app, lease, epoch=ARCHIVE_EPOCH)


def _append(path: str, rows: DataFrame, names: list[str], app: str, lease: Lease, **tags: int) -> None:
    """Appends the rows, unless ``app`` has appended to this table."""
    if idempotent_writes.txn_version(path, app) is not None:
        return
    lease.check()
    values = {name: fn.lit(value).cast("bigint") for name, value in tags.items()}
    writer = rows.withColumns(values).select(*names).write.format("delta").mode("append")
    writer.option("maxRecordsPerFile", schemas.FILE_ROWS).option("txnAppId", app).option("txnVersion", 0).save(path)
    checksums.record(path, delta.version(path))


def _quarantine(settings: Settings, run: Run, events: dict[Name, DataFrame], lease: Lease) -> None:
    path, app = table_paths.quarantine(settings, run.id), runs.archive_app(run.id, "_quarantine")
    if idempotent_writes.txn_version(path, app) is not None:
        return
    for topic, frame in sorted(events.items()):
        bad = frame.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR)
        _append(path, bad, schemas.quarantine_schema().names, f"{app}/{topic}", lease, epoch=ARCHIVE_EPOCH)
