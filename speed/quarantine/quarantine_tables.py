"""The tables that hold the quarantined records of a topic, conditions for some of them, and rows without bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc

from core.catalog import Catalog
from core.cut import Cut
from core.event_columns import ERROR
from core.identifiers import Name
from infra.control import runs
from infra.lake import delta, table_paths
from infra.settings import Settings

COORDINATES = pa.schema({"_partition": pa.int32(), "_offset": pa.int64()})


@dataclass(frozen=True)
class QuarantineSource:
    """Where quarantined records are looked for: these runs and, if ``archive``, the archive."""

    runs: Collection[Name]
    archive: bool


def holding(
    settings: Settings,
    catalog: Catalog,
    topic: Name,
    where: pc.Expression | None,
    source: QuarantineSource | None = None,
) -> Iterator[tuple[str, pc.Expression]]:
    """The tables with quarantined records of a topic, newest run first, and the condition for these records."""
    decoder = catalog.decoder(topic)
    tables = [
        (table_paths.quarantine(settings, run.id), pc.field("_topic") == topic)
        for run in reversed(runs.read_runs(settings))
        if run.decoders.get(topic) == decoder and (source is None or run.id in source.runs)
    ]
    if source is None or source.archive:
        tables.append((table_paths.archive(settings, topic, decoder), pc.field(ERROR).is_valid()))
    for path, condition in tables:
        if delta.exists(path):
            yield path, condition if where is None else condition & where


def batches(
    settings: Settings,
    catalog: Catalog,
    topic: Name,
    columns: Sequence[str],
    where: pc.Expression | None = None,
    source: QuarantineSource | None = None,
) -> Iterator[pa.RecordBatch]:
    """The quarantined records of a topic, newest run first; one that several tables hold comes several times.

    For columns of small values: all rows of a row group are in memory.
    """
    for path, condition in holding(settings, catalog, topic, where, source):
        yield from delta.batches(path, columns, condition)


def at_positions(positions: Iterable[tuple[int, int]]) -> pc.Expression:
    """A condition for records of these partitions and offsets, which statistics of files can answer, too."""
    by_partition: dict[int, list[int]] = {}
    for partition, offset in positions:
        by_partition.setdefault(partition, []).append(offset)
    offset = pc.field("_offset")
    conditions = [
        (pc.field("_partition") == partition)
        & (offset >= min(offsets))
        & (offset <= max(offsets))
        & offset.isin(pa.array(offsets, pa.int64()))
        for partition, offsets in by_partition.items()
    ]
    return reduce(or_, conditions, pc.scalar(False))


def from_offsets(start: Cut, topic: Name) -> pc.Expression:
    """A condition for records from the offsets of ``start`` on."""
    before = [
        (pc.field("_partition") == partition) & (pc.field("_offset") < end)
        for _, partition, end in start.only([topic]).ends
    ]
    return ~reduce(or_, before, pc.scalar(False))
