"""The row of the record in the archive of each decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow.compute as pc

from core.catalog import Catalog
from core.event_columns import ERROR, RAW_COLUMNS
from core.identifiers import Name
from core.unix_time import epoch_millis
from flows.trace.cells import guarded, row_of
from flows.trace.kafka_record import RawRecord
from flows.trace.stage_texts import HOLDS_EARLIER_TOPIC
from flows.trace.stages import ArchivedRecord
from infra.lake import delta, table_paths
from infra.lake.archive import Archive, decoder_archive
from infra.settings import Settings


@dataclass(frozen=True)
class ArchiveStage:
    """The record in one archive, with the whole row; None where the archive does not have it.

    ``of_other_topic`` says that the archive is of an earlier topic of this name.
    """

    stage: ArchivedRecord
    row: dict[str, Any] | None = None
    of_other_topic: bool = False


def read_archives(
    settings: Settings, catalog: Catalog, topic: Name, topic_id: str | None, partition: int, offset: int
) -> list[ArchiveStage]:
    """The record in every archive of its topic, that of today's decoder first."""
    current = catalog.decoder(topic)
    decoders = sorted(table_paths.decoders(settings, topic), key=lambda decoder: decoder != current)
    stages = []
    for decoder in decoders:
        path = table_paths.archive(settings, topic, decoder)
        unread = ArchivedRecord(decoder, decoder == current, path, -1, 0)
        read = partial(_read, settings, unread, topic, topic_id, partition, offset)
        stages.append(guarded(read, partial(_refused, unread)))
    return stages


def raw_of(row: dict[str, Any]) -> RawRecord:
    """The record of an archive row, as Kafka had it."""
    headers = tuple((header["key"], header["value"]) for header in row["_headers"] or ())
    timestamp = epoch_millis(row["_timestamp"])
    return RawRecord(row["_key"], row["_value"], headers, timestamp, row["_timestamp_type"] or 0)


def _read(
    settings: Settings, unread: ArchivedRecord, topic: Name, topic_id: str | None, partition: int, offset: int
) -> ArchiveStage:
    archive = decoder_archive(settings, topic, unread.decoder)
    landed = archive.ends.end(topic, partition)
    record = replace(unread, version=archive.version, landed=landed)
    if topic_id is not None and archive.topic_id not in (None, topic_id):
        return ArchiveStage(replace(record, note=HOLDS_EARLIER_TOPIC), of_other_topic=True)
    if offset >= landed:
        return ArchiveStage(replace(record, note=f"not landed yet: it holds the offsets below {landed}"))
    file = _file(archive, partition, offset)
    at = (pc.field("_partition") == partition) & (pc.field("_offset") == offset)
    rows = [row for batch in delta.batches(archive.path, _columns(archive), at) for row in batch.to_pylist()]
    if not rows and archive.gaps:
        return ArchiveStage(replace(record, note="compaction removed it before it was landed"))
    if len(rows) != 1:
        problem = f"missing: it holds {len(rows)} rows of this offset, which is below what was landed"
        return ArchiveStage(replace(record, file=file, problem=problem))
    (row,) = rows
    rules = tuple(row[ERROR].split(",")) if row[ERROR] else ()
    fields = {name: value for name, value in row.items() if name not in RAW_COLUMNS}
    return ArchiveStage(replace(record, file=file, rules=rules, row=row_of(fields)), row)


def _columns(archive: Archive) -> list[str]:
    return [str(field.name) for field in delta.table(archive.path).schema().fields]


def _file(archive: Archive, partition: int, offset: int) -> str:
    spans = ((file.path, file.span) for file in archive.files)
    holding = (path for path, span in spans if span.partition == partition and span.start <= offset < span.end)
    return next(holding, "")


def _refused(unread: ArchivedRecord, reason: str) -> ArchiveStage:
    return ArchiveStage(replace(unread, problem=reason))
