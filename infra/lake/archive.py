"""The archive as it is: which offsets it holds, read from the statistics of its own files and from nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from core.cut import Cut, Span
from core.errors import Refused
from core.identifiers import Name
from infra.lake import delta, parquet_scan, table_paths
from infra.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC_ID = "lk.topicId"
GAPS = "lk.gaps"  # of a compacted topic: offsets may have no record


@dataclass(frozen=True)
class File:
    """One file of an archive: its path, the offsets from its first record to its last, and how many records it has."""

    path: str
    span: Span
    records: int


@dataclass(frozen=True)
class Archive:
    """One generation of a topic's archive: its path, its files, and the offsets they hold, at a Delta version."""

    topic: Name
    decoder: Name
    path: str
    version: int
    ends: Cut
    topic_id: str | None
    files: tuple[File, ...] = ()
    schema: str = ""  # as the JSON that Delta and Spark share
    gaps: bool = False
    columns: str = ""  # as Spark's DDL; needed where there is no table to read them from

    @property
    def exists(self) -> bool:
        """Whether the table is there."""
        return self.version >= 0

    def missing_below(self, cut: Cut) -> tuple[Span, ...]:
        """The offsets of this topic below the cut that are yet to be landed; with gaps, nobody can tell."""
        return () if self.gaps else self.ends.behind(cut.only([self.topic]))


def generation(settings: Settings, topic: Name, decoder: Name) -> Archive:
    """What one decoder's archive holds. Raises Refused when offsets are missing from it or there twice."""
    return read_archive(topic, decoder, table_paths.archive(settings, topic, decoder))


def read_archive(topic: Name, decoder: Name, path: str) -> Archive:
    """What the archive at a path holds now; errors as ``generation``."""
    if not delta.exists(path):
        return Archive(topic, decoder, path, -1, Cut(), None)
    table = delta.table(path)
    said = table.metadata().configuration
    files = tuple(_file(topic, path, row) for row in pa.table(table.get_add_actions(flatten=True)).to_pylist())
    ends = _ends(topic, path, files, gaps=GAPS in said)
    return Archive(
        topic=topic,
        decoder=decoder,
        path=path,
        version=table.version(),
        ends=ends,
        topic_id=said.get(TOPIC_ID),
        files=files,
        schema=table.schema().to_json(),
        gaps=GAPS in said,
    )


def generations(settings: Settings, topic: Name) -> list[Archive]:
    """Every decoder's archive of a topic, the one that reaches furthest first."""
    found = [generation(settings, topic, name) for name in table_paths.decoders(settings, topic)]
    return sorted((a for a in found if a.exists), key=lambda a: a.ends.size, reverse=True)


def rows_below(spark: SparkSession, archive: Archive, cut: Cut, start: Cut | None = None) -> DataFrame:
    """Rows of the archive from ``start`` (else from 0) up to the cut, at the version that was looked at.

    A topic that was never landed gives no rows, in ``archive.columns``.
    """
    if not archive.exists:
        return spark.createDataFrame([], archive.columns)
    spans = cut.only([archive.topic]).since(start or Cut())
    texts = [f"(_partition = {s.partition} AND _offset >= {s.start} AND _offset < {s.end})" for s in spans]
    files = [file.path for file in archive.files if any(map(file.span.meets, spans))]
    rows = parquet_scan.scan_files(spark, archive.path, archive.schema, files)
    return rows.where(" OR ".join(texts) if texts else "false")


def _file(topic: Name, path: str, row: Mapping[str, Any]) -> File:
    span = Span(topic, int(row["partition._partition"]), int(row["min._offset"]), int(row["max._offset"]) + 1)
    return File(f"{path}/{row['path']}", span, int(row["num_records"]))


def _ends(topic: Name, path: str, files: Sequence[File], *, gaps: bool) -> Cut:
    """Every partition holds each offset from 0 on once: as many records as its last offset says, or fewer with gaps."""
    ends: dict[int, int] = {}
    counts: dict[int, int] = {}
    for file in files:
        partition = file.span.partition
        ends[partition] = max(ends.get(partition, 0), file.span.end)
        counts[partition] = counts.get(partition, 0) + file.records
    for partition, end in ends.items():
        if counts[partition] > end or (counts[partition] < end and not gaps):
            raise Refused(
                f"the archive holds {counts[partition]} records of {end} offsets",
                where=f"topic {topic}, partition {partition}, {path}",
                fix="remove this folder, then `lk land` copies the log again",
            )
    return Cut.of({topic: ends})
