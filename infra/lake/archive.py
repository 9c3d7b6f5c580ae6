"""The archive: which offsets it holds, read from the statistics of its data files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, Transaction, WriterProperties, write_deltalake

from core.cut import Cut, Span, latest_ends
from core.errors import Refused, TryAgain
from core.event_columns import decoded_ddl
from core.identifiers import Name
from core.record_counts import account_for
from core.topic import Topic
from infra.lake import checksums, compaction, damage, delta, idempotent_writes, parquet_scan, table_paths
from infra.lake.fence import Fence
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC_ID = "lk.topicId"
GAPS = "lk.gaps"  # set for compacted topics, where offsets may have no record
_FIX_COUNT = (
    "run `lk scrub`, then `lk repair`; if scrub finds nothing, restore this archive from a copy of the lake, or, if "
    "the log begins at offset 0, move its folder away: `lk land` copies the log again"
)
SMALL_FILES = 256
_TARGET = 128 * 1024 * 1024  # bytes of a merged file
_WRITER = WriterProperties(compression="SNAPPY")  # large row groups: an archive is read in whole ranges of offsets
_LANDED = "lk.landed"  # the cut up to which an archive with gaps was landed: its last offsets may have no record


@dataclass(frozen=True)
class File:
    """One data file of an archive: its path in the table, its bytes, the span of offsets and the number of records."""

    path: str
    size: int
    span: Span
    records: int


@dataclass(frozen=True)
class Archive:
    """The archive of a topic by one decoder: its files and the end of their offsets, at a Delta version."""

    topic: Name
    decoder: Name
    path: str
    version: int
    ends: Cut
    topic_id: str | None
    files: tuple[File, ...] = ()
    schema: str = ""  # JSON, in the format of Delta and Spark
    gaps: bool = False
    columns: str = ""  # Spark DDL, for an archive without a table

    @property
    def exists(self) -> bool:
        """Whether the table exists."""
        return self.version >= 0

    def missing_below(self, cut: Cut) -> tuple[Span, ...]:
        """The offsets of this topic below the cut that were not landed."""
        return self.ends.behind(cut.only([self.topic]))


def decoder_archive(settings: Settings, topic: Name, decoder: Name) -> Archive:
    """The archive of a topic by one decoder. Raises Refused when it misses offsets, holds one twice or is damaged."""
    return read_archive(topic, decoder, table_paths.archive(settings, topic, decoder))


def archive_up_to(settings: Settings, topic: Topic, decoder: Name, cut: Cut, fix: str) -> Archive:
    """The archive of a topic with the columns that its events have now.

    Raises Refused, with ``fix``, when it ends before the cut; else as ``decoder_archive``.
    """
    stored = decoder_archive(settings, Name(topic.name), decoder)
    if missing := stored.missing_below(cut):
        raise Refused(
            f"the archive ends before the cut: at offset {missing[0].start} of {missing[0].end}",
            where=f"topic {topic.name}, partition {missing[0].partition}, {stored.path}",
            fix=fix,
        )
    return replace(stored, columns=decoded_ddl(topic))


def read_archive(topic: Name, decoder: Name, path: str) -> Archive:
    """The archive at a path; errors as ``decoder_archive``."""
    if not delta.exists(path):
        return Archive(topic, decoder, path, -1, Cut(), None)
    table = delta.table(path)
    damage.require_whole_log(path, table)
    configuration = table.metadata().configuration
    files = tuple(_file(topic, row) for row in pa.table(table.get_add_actions(flatten=True)).to_pylist())
    ends = _ends(topic, path, files, gaps=GAPS in configuration)
    ends = latest_ends([ends, Cut.parse(configuration.get(_LANDED) or "{}")])
    return Archive(
        topic=topic,
        decoder=decoder,
        path=path,
        version=table.version(),
        ends=ends,
        topic_id=configuration.get(TOPIC_ID),
        files=files,
        schema=table.schema().to_json(),
        gaps=GAPS in configuration,
    )


def append_rows(archive: Archive, rows: pa.Table, app: str, note: str) -> None:
    """Appends rows in one commit, as ``txn(app, the archive's version + 1)``, with a note for people.

    Raises TryAgain when another process has committed since the archive was read.
    """
    with idempotent_writes.conflicts(archive.path):
        opened = delta.table(archive.path)
        if opened.version() != archive.version:
            raise TryAgain("another process landed meanwhile", where=archive.path, fix="run the command again")
        commit = CommitProperties({"userMetadata": note}, app_transactions=[Transaction(app, archive.version + 1)])
        write_deltalake(
            opened,
            idempotent_writes.with_columns_of(opened, rows),
            mode="append",
            commit_properties=commit,
            post_commithook_properties=delta.HOOKS,
            writer_properties=_WRITER,
        )


def mark_landed(archive: Archive, cut: Cut) -> Archive:
    """Stores up to where an archive with gaps was landed; the records of its last offsets may be gone."""
    if not archive.gaps:
        return archive
    with delta.mutex(archive.path):
        landed = str(latest_ends([archive.ends, cut]))
        opened = delta.table(archive.path)
        opened.alter.set_table_properties({_LANDED: landed}, raise_if_not_exists=False)
        checksums.record(archive.path, opened.version())
    return read_archive(archive.topic, archive.decoder, archive.path)


def merge_small_files(path: str, lease: Fence) -> bool:
    """Merges the files of many landings, each within its partition, once there are SMALL_FILES; False if there are not.

    A batch opens the archive several times and lists its files each time. Replaced files stay for Delta's week, as a
    query may read them. The only small file of a partition merges with none.
    """
    files = pa.table(delta.table(path).get_add_actions(flatten=True))
    small = files.filter(pc.less(files["size_bytes"], _TARGET // 2))["partition._partition"]
    if sum(count for count in Counter(small.to_pylist()).values() if count > 1) < SMALL_FILES:
        return False
    compaction.compact(path, _TARGET, lease=lease, writer=_WRITER)
    compaction.checkpoint(path)
    compaction.vacuum(path)
    return True


def topic_archives(settings: Settings, topic: Name) -> list[Archive]:
    """The archives of a topic by every decoder, the longest first."""
    archives = [decoder_archive(settings, topic, decoder) for decoder in table_paths.decoders(settings, topic)]
    return sorted((a for a in archives if a.exists), key=lambda a: a.ends.size, reverse=True)


def rows_below(spark: SparkSession, archive: Archive, cut: Cut, start: Cut | None = None) -> DataFrame:
    """Rows of the archive from ``start`` (default: offset 0) up to the cut, at the version in ``archive``.

    A topic that was never landed gives an empty frame with ``archive.columns``.
    """
    if not archive.exists:
        return spark.createDataFrame([], archive.columns)
    spans = cut.only([archive.topic]).since(start or Cut())
    conditions = [f"(_partition = {s.partition} AND _offset >= {s.start} AND _offset < {s.end})" for s in spans]
    sizes = {file.path: file.size for file in archive.files if any(map(file.span.meets, spans))}
    rows = parquet_scan.scan_files(spark, archive.path, archive.schema, sizes)
    return rows.where(" OR ".join(conditions) if conditions else "false")


def _file(topic: Name, row: Mapping[str, Any]) -> File:
    span = Span(topic, int(row["partition._partition"]), int(row["min._offset"]), int(row["max._offset"]) + 1)
    return File(row["path"], int(row["size_bytes"]), span, int(row["num_records"]))


def _ends(topic: Name, path: str, files: Sequence[File], *, gaps: bool) -> Cut:
    """The end offset of each partition. Raises Refused when its records do not account for all offsets below it."""
    ends: dict[int, int] = {}
    counts: dict[int, int] = {}
    for file in files:
        partition = file.span.partition
        ends[partition] = max(ends.get(partition, 0), file.span.end)
        counts[partition] = counts.get(partition, 0) + file.records
    for partition, end in ends.items():
        require_records(counts[partition], end, gaps=gaps, where=f"topic {topic}, partition {partition}, {path}")
    return Cut.of({topic: ends})


def require_records(records: int, end: int, *, gaps: bool, where: str) -> None:
    """Raises Refused unless so many records of an archive account for all offsets of a partition below ``end``."""
    if not account_for(records, end, gaps=gaps):
        raise Refused(f"the archive holds {records} records for {end} offsets", where=where, fix=_FIX_COUNT)
