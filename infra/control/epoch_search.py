"""Searches in the manifest of a run: they read a few rows, or those of a period, however long it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from core.cut import Cut
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import Totals
from infra.control import manifest
from infra.control.manifest import (
    ARCHIVE_EPOCH,
    Epoch,
    epoch_numbered,
    open_committed,
    read_epoch,
    read_epochs,
    read_rows,
)
from infra.control.runs import Run
from infra.control.store import TIME
from infra.lake import delta
from infra.settings import Settings

_BACK = 1_000  # rows that a search for a time looks at first; each time twice as many
_ENDS = ("start", "end")
_NEAR = 100  # rows after one that is missing, the next of which decides a search


def last_epoch_before(settings: Settings, id: Name, time: datetime) -> Epoch | None:
    """The last epoch that was committed before a time.

    It is looked for from the newest epoch back: after a clock was ahead and stepped back, epochs of a later time lie
    between those of earlier ones, and would mislead a binary search.
    """
    committed = open_committed(settings, id)
    if committed is None:
        return None
    opened, last = committed
    high, size, dataset = last, _BACK, delta.dataset(opened, ["number", "committed_at"])
    while high >= ARCHIVE_EPOCH:
        low = max(high - size + 1, ARCHIVE_EPOCH)
        number = pc.field("number")
        where = (number >= low) & (number <= high) & (pc.field("committed_at") < pa.scalar(time, TIME))
        rows = delta.rows_in(opened, dataset, ["number"], where)
        if len(rows):
            return read_epoch(opened, max(rows["number"].to_pylist()))
        high, size = low - 1, size * 2
    return None


def counted_in_the_hour(settings: Settings, id: Name, last: Epoch | None, end: datetime) -> Totals:
    """What the epochs up to ``last`` counted that were committed in the hour before ``end``, or after it."""
    before = last_epoch_before(settings, id, end - timedelta(hours=1))
    return (last.total if last else Totals()) - (before.total if before else Totals())


def first_epoch_after(settings: Settings, id: Name, cuts: Sequence[Cut]) -> Epoch | None:
    """The first epoch that ends at or after every one of the cuts, in every partition."""
    before = last_epoch_where(settings, id, "end", lambda end: not all(cut <= Cut.parse(end) for cut in cuts))
    if before is None:
        return next(iter(read_epochs(settings, id, last=0)), None)
    return epoch_numbered(settings, id, before.number + 1)


def last_epoch_where(settings: Settings, id: Name, column: str, holds: Callable[[Any], bool]) -> Epoch | None:
    """The last epoch for which a condition holds that holds for all epochs before it: a binary search.

    The condition gets what one column of the table has; the other columns, a row of many JSON texts, are not read.
    """
    committed = open_committed(settings, id)
    if committed is None:
        return None
    opened, last = committed
    return read_epoch(opened, last_row_where(opened, last, column, holds))


@dataclass(frozen=True)
class EpochOfOffset:
    """The epoch that took an offset, or else the first that may have and has no row; neither if no epoch did."""

    epoch: Epoch | None = None
    missing: int | None = None


def epoch_of_offset(settings: Settings, run: Run, partition: LogPartition, offset: int) -> EpochOfOffset:
    """Where an offset, at or after the start of the run, is: a binary search that a lost row does not mislead.

    The epoch has no total of an older program.
    """
    committed = open_committed(settings, run.id)
    if committed is None:
        return EpochOfOffset()
    opened, last = committed
    low, high, dataset = ARCHIVE_EPOCH if run.prefix.ends else 0, last, delta.dataset(opened, ["number"])
    while low <= high:
        middle, near = (low + high) // 2, min((low + high) // 2 + _NEAR, high)
        rows = read_rows(opened, middle, middle, dataset, _ENDS) or read_rows(opened, middle, near, dataset, _ENDS)
        if rows and Cut.parse(rows[0]["end"]).end(*partition) <= offset:
            low = rows[0]["number"] + 1
        elif rows and Cut.parse(rows[0]["start"]).end(*partition) <= offset:
            number = rows[0]["number"]
            return EpochOfOffset(manifest.parsed_epoch(read_rows(opened, number, number, dataset)[0], Totals()))
        else:
            high = middle - 1
    return EpochOfOffset(missing=low if low <= last else None)


def last_row_where(opened: DeltaTable, last: int, column: str, holds: Callable[[Any], bool]) -> int:
    """The number of the last row for whose column a condition holds that holds for all rows before it."""
    low, high, dataset = ARCHIVE_EPOCH, last, delta.dataset(opened, ["number"])
    while low <= high:
        middle = (low + high + 1) // 2
        rows = read_rows(opened, middle, middle, dataset, [column])
        if not rows or holds(rows[0][column]):  # only a replay from the archive has an epoch -1
            low = middle + 1
        else:
            high = middle - 1
    return high
