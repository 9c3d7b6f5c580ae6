"""The head of a replay from the archive: what the log no longer holds, as one epoch before Kafka's first.

It is committed like any epoch: views first, the manifest row last, each once, under app ids of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.cut import Cut
from core.decode import ERROR, RAW_COLUMNS
from core.errors import Refused
from core.ident import Name
from core.partial import ledger, partial
from infra import archive, delta, faults, lake, runs
from infra.leases import Lease
from infra.runs import HEAD, Counted, Epoch, Run
from infra.settings import Settings
from speed import tables


def replay_head(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, lease: Lease) -> None:
    """Computes every view of the run from the archive up to ``run.head``; nothing when that was done, or is not asked.

    Raises Refused when the archive of the run's decoders does not reach there.
    """
    manifest = lake.manifest(settings, run.id)
    if not run.head.ends or delta.txn_version(manifest, runs.head_app(run.id)) is not None:
        return
    events = {topic: _events(spark, settings, run, topic) for topic in run.topics}
    counted: dict[str, Counted] = {}
    rows = dict.fromkeys(run.views, 0)
    for topic, frame in events.items():
        reading = [view for view in catalog.reading(topic) if view.name in run.views]
        for row in ledger(reading, frame).collect():
            place = f"{topic}/{row['_partition']}"
            counted[place] = Counted(row["records"], row["decoded"], row["quarantined"])
            for view in reading:
                rows[Name(view.name)] += row[f"rows_{view.name}"]
    _refuse_gaps(run, counted)
    faults.reach("replay.0_before_head")
    versions = {view: _write(settings, catalog, run, view, events, lease) for view in sorted(run.views)}
    _quarantine(settings, run, events, lease)
    faults.reach("replay.1_before_head_manifest")
    epoch = Epoch(HEAD, run.start, run.head, counted, rows, versions, 0, datetime.now(UTC))
    delta.append_once(manifest, runs.epoch_row(epoch), runs.head_app(run.id), 0, lease=lease)


def _events(spark: SparkSession, settings: Settings, run: Run, topic: Name) -> DataFrame:
    held = archive.generation(settings, topic, run.decoders[topic])
    short = held.ends.behind(run.head.only([topic]))
    if short:
        raise Refused(
            f"the archive ends at offset {short[0].start}, the replay's head at {short[0].end}",
            where=f"topic {topic}, partition {short[0].partition}, {held.path}",
            todo="run `lk batch`, then start a new replay",
        )
    return archive.below(spark, held, run.head, Cut())


def _refuse_gaps(run: Run, counted: dict[str, Counted]) -> None:
    for topic, partition, end in run.head.ends:
        found = counted.get(f"{topic}/{partition}", Counted(0, 0, 0)).records
        if found != end:
            raise Refused(
                f"the archive holds {found} records of {end} offsets",
                where=f"topic {topic}, partition {partition}",
                todo="the archive is damaged: restore it, or restore the log",
            )


def _write(
    settings: Settings, catalog: Catalog, run: Run, view: Name, events: dict[Name, DataFrame], lease: Lease
) -> int:
    path, app = lake.speed(settings, run.id, view), runs.head_app(run.id, view)
    definition = catalog.view(view)
    schema = tables.partial_schema(definition)
    parts = [partial(definition, events[Name(source)]) for source in definition.sources if Name(source) in events]
    if delta.txn_version(path, app) is None:
        lease.check()
        tags = {name: fn.lit(HEAD).cast("bigint") for name in ("first_epoch", "last_epoch")}
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part)
        writer = whole.withColumns(tags).select(*schema.names).write.format("delta").mode("append")
        writer.option("txnAppId", app).option("txnVersion", 0).save(path)
    return delta.version(path)


def _quarantine(settings: Settings, run: Run, events: dict[Name, DataFrame], lease: Lease) -> None:
    path, app = lake.quarantine(settings, run.id), runs.head_app(run.id, "_quarantine")
    if delta.txn_version(path, app) is not None:
        return
    lease.check()
    schema = tables.quarantine_schema()
    for topic, frame in sorted(events.items()):
        bad = frame.where(fn.col(ERROR).isNotNull()).select(*RAW_COLUMNS, ERROR)
        rows = bad.withColumn("epoch", fn.lit(HEAD).cast("bigint")).select(*schema.names)
        writer = rows.write.format("delta").mode("append")
        writer.option("txnAppId", f"{app}/{topic}").option("txnVersion", 0).save(path)
