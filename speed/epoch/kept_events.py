"""The events that a run keeps of a keyed view, read in this process when they are few."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from core.compute.keyed_events import EVENT, HASH, SOURCE, TIME
from core.compute.segments import reach_width
from core.identifiers import Name
from core.view import Keyed
from infra.lake import data_files, delta, table_paths
from infra.settings import Settings
from speed.epoch.prepared_query import MAX_INPUT_BYTES


def few_events(settings: Settings, run: Name, view: Keyed, number: int, new: pa.Table) -> pa.Table | None:
    """Events up to epoch ``number`` of the same keys as the packed events ``new``, within reach of their units.

    Events of other keys with the same hash too. None when there are none, or when they are too many to pass through
    this process; then not all of them are read.
    """
    path = table_paths.events(settings, run, Name(view.name))
    columns, condition = [SOURCE, HASH, EVENT, "epoch"], pc.field("epoch") <= number
    hashes = pc.unique(new[HASH])
    if view.reach is None:
        return _few(data_files.batches_holding(path, HASH, sorted(hashes.to_pylist()), columns, condition))
    width = reach_width(view)
    first, last = (pc.min_max(new[TIME]).as_py()[end] for end in ("min", "max"))
    condition &= (pc.field(TIME) >= first - width) & (pc.field(TIME) <= last + width)
    return _few(delta.batches(path, columns, condition & pc.field(HASH).isin(hashes)))


def _few(read: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """The rows of the batches; None when they are too large for this process, and then not all of them are read."""
    batches, size = list[pa.RecordBatch](), 0
    for batch in read:
        batches.append(batch)
        size += batch.nbytes
        if size > MAX_INPUT_BYTES:
            return None
    return pa.Table.from_batches(batches) if batches else None
