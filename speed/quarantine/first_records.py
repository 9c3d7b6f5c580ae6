"""The first quarantined records of a topic, of which only some files are read."""

from __future__ import annotations

from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc

from core.catalog import Catalog
from core.identifiers import Name
from infra.lake import data_files, delta
from infra.settings import Settings
from speed.quarantine import quarantine_tables
from speed.quarantine.quarantine_tables import COORDINATES


def first_positions(settings: Settings, catalog: Catalog, topic: Name, count: int) -> list[tuple[int, int]]:
    """Partition and offset of the first records of a topic.

    Those of the first file of each table say where the first ones end at the latest: later files are not read.
    """
    if not count:
        return []
    first, names = COORDINATES.empty_table(), COORDINATES.names
    for path, condition in quarantine_tables.holding(settings, catalog, topic, None):
        for batch in delta.batches(path, names, condition & _in_first_file(path)):
            first = _first_of(first, batch, count)
    for batch in quarantine_tables.batches(settings, catalog, topic, names, _up_to(first, count)):
        first = _first_of(first, batch, count)
    return _places(first)


def _in_first_file(path: str) -> pc.Expression:
    """A condition for what the file with the first partition and offset may hold."""
    opened = delta.table(path)
    live = zip(*(data_files.live_files(opened, column) for column in COORDINATES.names), strict=True)
    by_start = {tuple(file.low for file in ranges): ranges for ranges in live}
    if not by_start:
        return pc.scalar(False)
    ranges = zip(COORDINATES.names, by_start[min(by_start)], strict=True)
    return reduce(and_, ((pc.field(name) >= file.low) & (pc.field(name) <= file.high) for name, file in ranges))


def _up_to(first: pa.Table, count: int) -> pc.Expression | None:
    """A condition for the records up to the last of the first ones, if there are enough of them."""
    if len(first) < count:
        return None
    last_partition, last_offset = _places(first)[-1]
    partition, offset = pc.field("_partition"), pc.field("_offset")
    return (partition < last_partition) | ((partition == last_partition) & (offset <= last_offset))


def _first_of(first: pa.Table, batch: pa.RecordBatch, count: int) -> pa.Table:
    names = COORDINATES.names
    both = pa.concat_tables([first, pa.Table.from_batches([batch]).cast(COORDINATES)])
    return both.group_by(names).aggregate([]).sort_by([(name, "ascending") for name in names]).slice(0, count)


def _places(rows: pa.Table) -> list[tuple[int, int]]:
    return list(zip(rows["_partition"].to_pylist(), rows["_offset"].to_pylist(), strict=True))
