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
from infra.control.run_endings import read_endings
from infra.control.runs import Run
from infra.lake import delta, table_paths
from infra.settings import Settings

COORDINATES = pa.schema({"_partition": pa.int32(), "_offset": pa.int64()})


@dataclass(frozen=True)
class QuarantineSource:
    """Where quarantined records are looked for: the tables of these runs, in this order, and after them the archive."""

    runs: Sequence[Run]
    archive: bool


def everywhere(settings: Settings) -> QuarantineSource:
    """The archive and every run that has not ended, newest first; the tables of those that have are deleted."""
    ended = read_endings(settings).keys()
    return QuarantineSource([run for run in reversed(runs.read_runs(settings)) if run.id not in ended], archive=True)


def only_of(settings: Settings, ids: Collection[Name], *, archive: bool) -> QuarantineSource:
    """The same of these runs alone and, if ``archive``, of the archive."""
    return QuarantineSource([run for run in everywhere(settings).runs if run.id in ids], archive)


def holding(
    settings: Settings,
    catalog: Catalog,
    topic: Name,
    where: pc.Expression | None,
    source: QuarantineSource | None = None,
) -> Iterator[tuple[str, pc.Expression]]:
    """The tables with quarantined records of a topic, newest run first, and the condition for these records."""
    decoder, places = catalog.decoder(topic), source or everywhere(settings)
    tables = [
        (table_paths.quarantine(settings, run.id), pc.field("_topic") == topic)
        for run in places.runs
        if run.decoders.get(topic) == decoder
    ]
    if places.archive:
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
