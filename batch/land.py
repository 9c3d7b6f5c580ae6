"""Copies the log up to a cut into the archive: every offset once, one atomic commit per topic.

The archive's own files give the start offsets. The commit's ``txn`` version is one more than the table version that was
read, so of two processes that land the same offsets only one can commit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from core.catalog import Catalog
from core.cut import Cut, Span
from core.decoding.decode import decode, raw
from core.digest import topic_digest
from core.errors import Refused, TryAgain
from core.event_columns import decoded_columns
from core.identifiers import Name
from core.topic import Topic
from infra import faults
from infra.control import locks
from infra.control.log_history import require_log_of_archive, require_log_of_run
from infra.kafka import kafka_admin, log_checks
from infra.kafka.spark_source import read_spans
from infra.lake import checksums, delta, table_paths
from infra.lake.archive import (
    GAPS,
    TOPIC_ID,
    Archive,
    append_rows,
    decoder_archive,
    mark_landed,
    read_archive,
    rows_below,
    topic_archives,
)
from infra.library_errors import first_line
from infra.progress_bar import bar
from infra.settings import Settings
from infra.spark.collected_rows import collected
from infra.trino import metastore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from infra.lake.leases import Lease

APP = "land"
_STATS = "_offset,_timestamp,event_time"  # read to find start offsets and spans; statistics of other columns cost time
_FEW = 25_000  # offsets: Spark's writer costs seconds, however few records it writes
_TASK_RECORDS = 250_000  # each task writes one file; small tasks keep all cores busy to the end


@dataclass(frozen=True)
class Landed:
    """The records that one topic's archive gained: from Kafka, and decoded again from an older decoder's archive."""

    topic: Name
    records: int
    redecoded: int
    spans: tuple[Span, ...]
    path: str
    seconds: float


def land(spark: SparkSession, settings: Settings, catalog: Catalog, cut: Cut, run: Name | None = None) -> list[Landed]:
    """Appends to the archive of every topic in the cut what it lacks up to the cut.

    Raises Refused when offsets below the cut are neither in Kafka nor in an archive, when the topic was created again,
    or when the log has other records than ``run`` read: it may have gone back after the run's epoch was claimed.
    """
    table_paths.open_lake(settings)
    topics = [name for name in catalog.topics if cut.only([name]).ends]
    with locks.hold(settings, "batch") as lease, bar("landing", cut.size, "") as show_progress:
        if run:
            require_log_of_run(settings, run, topics, fix=log_checks.RESTORE_LOG)
        faults.at("batch.1_before_land")
        landed: list[Landed] = []
        for name in topics:
            landed.append(_land(spark, settings, catalog.topics[name], cut.only([name]), lease))
            show_progress(cut.only(topics[: len(landed)]).size)
        faults.at("batch.1_after_land")
    for archived in landed:
        register(settings, archived.topic, archived.path)
    return landed


def register(settings: Settings, topic: Name, path: str) -> bool:
    """Registers the archive in Trino as archive.<topic>; False without Trino, then publishing does it."""
    try:
        metastore.register(settings, "archive", topic, table_paths.relative(settings, path))
    except TryAgain:
        return False
    return True


def _land(spark: SparkSession, settings: Settings, topic: Topic, cut: Cut, lease: Lease) -> Landed:
    began, name = time.monotonic(), Name(topic.name)
    topic_id = kafka_admin.topic_ids(settings, [name])[name]
    archive = _open(spark, settings, topic, topic_id)
    for longest in topic_archives(settings, name)[:1]:
        require_log_of_archive(settings, longest, fix=log_checks.RESTORE_LOG)
    archive, redecoded = _redecode(spark, settings, topic, archive, cut, lease)
    spans = cut.since(archive.ends)
    if spans:
        if missing := log_checks.missing_records(settings, spans):
            fix = "restore the topic's log; the served views stay as they are"
            raise log_checks.records_removed(
                missing, where=f"the archive does not hold them either: {archive.path}", fix=fix
            )
        records = read_spans(spark, settings, spans, task_records=_TASK_RECORDS)
        archive = _append(archive, decode(topic, records), spans, lease)
    size = sum(span.size for span in spans)
    return Landed(name, size, redecoded, spans, archive.path, time.monotonic() - began)


def _open(spark: SparkSession, settings: Settings, topic: Topic, topic_id: str) -> Archive:
    """The archive of the current decoder, created empty if missing, with the id of the topic that it copies."""
    from delta.tables import DeltaTable

    name = Name(topic.name)
    archive = decoder_archive(settings, name, topic_digest(topic))
    for other in [archive, *topic_archives(settings, name)]:
        if other.topic_id is not None:
            log_checks.require_same_ids(
                {name: other.topic_id}, {name: topic_id}, where=other.path, fix=log_checks.RESTORE_LOG
            )
    if not archive.exists:
        builder = DeltaTable.createIfNotExists(spark).location(archive.path).partitionedBy("_partition")
        for column, kind in decoded_columns(topic).items():
            builder = builder.addColumn(column, kind)
        builder = builder.property(GAPS, "true") if topic.compacted else builder
        builder.property(TOPIC_ID, topic_id).property("delta.dataSkippingStatsColumns", _STATS).execute()
        archive = decoder_archive(settings, name, topic_digest(topic))
    return archive


def _redecode(
    spark: SparkSession, settings: Settings, topic: Topic, archive: Archive, cut: Cut, lease: Lease
) -> tuple[Archive, int]:
    """Decodes again the records that only an older decoder's archive holds: Kafka may have removed them."""
    older = [a for a in topic_archives(settings, archive.topic) if a.decoder != archive.decoder]
    spans = _lower(cut, older[0].ends).since(archive.ends) if older else ()
    if not spans:
        return archive, 0
    rows = rows_below(spark, older[0], _lower(cut, older[0].ends), archive.ends)
    appended = _append(archive, decode(topic, raw(rows)), spans, lease)
    return appended, sum(span.size for span in spans)


def _lower(a: Cut, b: Cut) -> Cut:
    return Cut(tuple((t, p, min(end, b.end(t, p))) for t, p, end in a.ends if b.end(t, p) > 0))


def _append(archive: Archive, rows: DataFrame, spans: Sequence[Span], lease: Lease) -> Archive:
    """One commit with exactly these offsets; it is read back, and reverted when offsets are missing."""
    lease.check()
    note = json.dumps({"spans": [[s.partition, s.start, s.end] for s in spans], "lease": lease.generation})
    faults.at("batch.1_in_land")
    try:
        few = collected(rows) if sum(span.size for span in spans) <= _FEW else None
        with delta.mutex(archive.path):
            if few is not None and few.num_rows:
                append_rows(archive, few, APP, note)
            else:
                options = {"txnAppId": APP, "txnVersion": str(archive.version + 1), "userMetadata": note}
                rows.write.format("delta").mode("append").options(**options).save(archive.path)
    except PySparkException as e:
        raise _failed(archive, e) from None
    try:
        after = read_archive(archive.topic, archive.decoder, archive.path)
    except Refused as e:
        delta.table(archive.path).restore(archive.version)
        raise Refused(
            f"Kafka holds fewer records than offsets: {e.what}",
            where=f"{e.where}; the append was reverted",
            fix="transactional topics cannot be archived, and compacted ones must be declared so",
        ) from None
    if after.ends != _ends(archive, spans) and not (after.gaps and after.ends <= _ends(archive, spans)):
        raise TryAgain("another process landed meanwhile", where=archive.path, fix="run the command again")
    checksums.record(archive.path, after.version)
    return mark_landed(after, _ends(archive, spans))


def _ends(archive: Archive, spans: Sequence[Span]) -> Cut:
    moved = {(s.topic, s.partition): s.end for s in spans}
    kept = {(t, p): end for t, p, end in archive.ends.ends}
    return Cut(tuple(sorted((t, p, end) for (t, p), end in (kept | moved).items())))


def _failed(archive: Archive, error: PySparkException) -> TryAgain:
    text = first_line(str(error))
    if "Concurrent" in text or "DELTA_CONCURRENT" in text:
        return TryAgain("another process landed meanwhile", where=archive.path, fix="run the command again")
    return TryAgain(f"landing {archive.topic} failed: {text}", where=archive.path, fix="see the log of the session")
