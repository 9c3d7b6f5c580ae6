"""Table speed/<run>/_epochs, the manifest of a run: one row for each committed epoch."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from core.cut import Cut
from core.identifiers import Name
from core.log_mark import LogMark, Place, marks_from_json, marks_to_json
from core.record_counts import RecordCounts, Totals
from infra.control import runs
from infra.control.claims import Claim
from infra.control.runs import Run
from infra.control.store import TIME
from infra.lake import delta, table_paths
from infra.lake.fence import Fence
from infra.settings import Settings

EPOCHS = pa.schema(
    [("number", pa.int64())]
    + [(name, pa.string()) for name in ("start", "end", "counted", "rows", "versions")]
    + [("batch_time_ms", pa.int64()), ("committed_at", TIME)]
    + [(name, pa.string()) for name in ("total_counted", "total_rows", "marks")]
)
_AT_ONCE = 5_000  # rows of an older program that are read together
ARCHIVE_EPOCH = -1  # the number of the epoch that was computed from the archive
_NEAR = 100  # rows after one that is missing, the next of which decides a search


@dataclass(frozen=True)
class Epoch:
    """One committed micro-batch. ``counted`` has a key ``topic/partition`` for every partition with offsets.

    ``rows`` is the number of rows that the events give each view, counted apart from the grouping. ``versions`` is the
    Delta version of each view's table. ``total`` counts this epoch and all before it. ``marks`` are of the last record
    that the run read in each partition.
    """

    number: int
    start: Cut
    end: Cut
    counted: Mapping[str, RecordCounts]
    rows: Mapping[Name, int]
    versions: Mapping[Name, int]
    batch_time_ms: int
    committed_at: datetime
    total: Totals
    marks: Mapping[Place, LogMark] = field(default_factory=dict)


def read_epochs(settings: Settings, id: Name, first: int | None = None, last: int | None = None) -> tuple[Epoch, ...]:
    """The committed epochs of a run from number ``first`` to ``last``, both included, in order; all by default."""
    opened = _open(settings, id)
    return _read(opened, first, last) if opened else ()


def last_epoch(settings: Settings, id: Name) -> Epoch | None:
    """The last committed epoch of a run."""
    opened = _open(settings, id)
    number = _last_number(opened, id) if opened else None
    return _read_epoch(opened, number) if opened and number is not None else None


def last_epochs(settings: Settings, id: Name, count: int) -> tuple[Epoch, ...]:
    """The last epochs of a run, ``count`` of them or all if there are fewer, in order."""
    opened = _open(settings, id)
    number = _last_number(opened, id) if opened else None
    return _read(opened, number - count + 1, number) if opened and number is not None else ()


def epoch_numbered(settings: Settings, id: Name, number: int) -> Epoch | None:
    """One epoch of a run; None when it was not committed."""
    opened = _open(settings, id)
    return _read_epoch(opened, number) if opened else None


def last_epoch_before(settings: Settings, id: Name, time: datetime) -> Epoch | None:
    """The last epoch that was committed before a time."""
    return last_epoch_where(settings, id, lambda epoch: epoch.committed_at < time)


def counted_in_the_hour(settings: Settings, id: Name, last: Epoch | None, end: datetime) -> Totals:
    """What the epochs up to ``last`` counted that were committed in the hour before ``end``, or after it."""
    before = last_epoch_before(settings, id, end - timedelta(hours=1))
    return (last.total if last else Totals()) - (before.total if before else Totals())


def first_epoch_after(settings: Settings, id: Name, cuts: Sequence[Cut]) -> Epoch | None:
    """The first epoch that ends at or after every one of the cuts, in every partition."""
    before = last_epoch_where(settings, id, lambda epoch: not all(cut <= epoch.end for cut in cuts))
    if before is None:
        return next(iter(read_epochs(settings, id, last=0)), None)
    return epoch_numbered(settings, id, before.number + 1)


def last_epoch_where(settings: Settings, id: Name, holds: Callable[[Epoch], bool]) -> Epoch | None:
    """The last epoch for which a condition holds that holds for all epochs before it: a binary search.

    The condition sees no total.
    """
    opened = _open(settings, id)
    last = _last_number(opened, id) if opened else None
    if opened is None or last is None:
        return None
    return _read_epoch(opened, _last_row_where(opened, last, lambda row: holds(_epoch(row, Totals()))))


@dataclass(frozen=True)
class Holder:
    """The epoch that took an offset, or else the first that may have and has no row; neither if no epoch did."""

    epoch: Epoch | None = None
    missing: int | None = None


def epoch_holding(settings: Settings, run: Run, place: Place, offset: int) -> Holder:
    """Where an offset, at or after the start of the run, is: a binary search that a lost row does not mislead.

    The epoch has no total of an older program.
    """
    opened = _open(settings, run.id)
    last = _last_number(opened, run.id) if opened else None
    if opened is None or last is None:
        return Holder()
    low, high = ARCHIVE_EPOCH if run.prefix.ends else 0, last
    while low <= high:
        middle = (low + high) // 2
        rows = _rows(opened, middle, middle) or _rows(opened, middle, min(middle + _NEAR, high))
        if rows and Cut.parse(rows[0]["end"]).end(*place) <= offset:
            low = rows[0]["number"] + 1
        elif rows and Cut.parse(rows[0]["start"]).end(*place) <= offset:
            return Holder(_epoch(rows[0], Totals()))
        else:
            high = middle - 1
    return Holder(missing=low if low <= last else None)


def _last_row_where(opened: DeltaTable, last: int, holds: Callable[[Mapping[str, Any]], bool]) -> int:
    """The number of the last row for which a condition holds that holds for all rows before it."""
    low, high = ARCHIVE_EPOCH, last
    while low <= high:
        middle = (low + high + 1) // 2
        rows = _rows(opened, middle, middle)
        if not rows or holds(rows[0]):  # only a replay from the archive has an epoch -1
            low = middle + 1
        else:
            high = middle - 1
    return high


def store_totals(settings: Settings, id: Name, lease: Fence | None = None) -> None:
    """Stores the totals of epochs that an older program committed without them, in one commit; once for a run."""
    opened = _open(settings, id)
    newest = _last_number(opened, id) if opened else None
    if opened is None or newest is None or all(row.get("total_rows") for row in _rows(opened, None, 0)):
        return
    last = _last_row_where(opened, newest, lambda row: not row["total_rows"])
    schema = pa.schema(opened.schema().to_arrow())
    rows = pa.RecordBatchReader.from_batches(schema, _with_totals(opened, last, schema))
    path, app = table_paths.manifest(settings, id), runs.txn_app(id, "_epochs/totals")
    delta.overwrite_once(path, rows, f"number <= {last:d}", app, 1, lease=lease)


def _with_totals(opened: DeltaTable, last: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows up to number ``last`` with totals."""
    total = Totals()
    for first in range(ARCHIVE_EPOCH, last + 1, _AT_ONCE):
        rows = _rows(opened, first, min(first + _AT_ONCE - 1, last))
        for row in rows:
            total += Totals(_counts_from_json(row["counted"]), _rows_from_json(row["rows"]))
            row["total_counted"] = _counts_to_json(total.partitions)
            row["total_rows"] = json.dumps(dict(total.rows), sort_keys=True)
        yield from pa.Table.from_pylist(rows, schema=schema).to_batches()


def claimed_epoch(settings: Settings, run: Run, claim: Claim) -> int | None:
    """The number of the epoch of a run that ends at a claimed cut; -1 for the start of the run.

    None for the end of another epoch than the claimed one: a fold never crosses a claimed epoch, it may cross others.
    """
    cut = claim.cut.only(run.topics)
    if run.start == cut and not run.prefix.ends:
        return -1
    epoch = epoch_numbered(settings, run.id, claim.epoch) if claim.run == run.id else None
    return epoch.number if epoch and epoch.end == cut else None


def epoch_row(epoch: Epoch) -> pa.Table:
    """The manifest row of an epoch."""
    row: dict[str, Any] = {
        "number": epoch.number,
        "start": str(epoch.start),
        "end": str(epoch.end),
        "counted": _counts_to_json(epoch.counted),
        "rows": json.dumps(dict(epoch.rows), sort_keys=True),
        "versions": json.dumps(dict(epoch.versions), sort_keys=True),
        "batch_time_ms": epoch.batch_time_ms,
        "committed_at": epoch.committed_at,
        "total_counted": _counts_to_json(epoch.total.partitions),
        "total_rows": json.dumps(dict(epoch.total.rows), sort_keys=True),
        "marks": marks_to_json(epoch.marks),
    }
    return pa.Table.from_pylist([row], schema=EPOCHS)


def _open(settings: Settings, id: Name) -> DeltaTable | None:
    path = table_paths.manifest(settings, id)
    return delta.table(path) if delta.exists(path) else None


def _last_number(opened: DeltaTable, id: Name) -> int | None:
    last = opened.transaction_version(runs.txn_app(id))
    if last is not None:
        return int(last)
    return ARCHIVE_EPOCH if opened.transaction_version(runs.archive_app(id)) is not None else None


def _read_epoch(opened: DeltaTable, number: int) -> Epoch | None:
    epochs = _read(opened, number, number)
    return epochs[0] if len(epochs) == 1 else None


def _read(opened: DeltaTable, first: int | None = None, last: int | None = None) -> tuple[Epoch, ...]:
    rows = _rows(opened, first, last)
    total = Totals() if rows and rows[0].get("total_rows") else _total_before(opened, rows)
    epochs = []
    for row in rows:
        epochs.append(_epoch(row, total))
        total = epochs[-1].total
    return tuple(epochs)


def _rows(opened: DeltaTable, first: int | None, last: int | None) -> list[dict[str, Any]]:
    number, conditions = pc.field("number"), []
    if first is not None:
        conditions.append(number >= first)
    if last is not None:
        conditions.append(number <= last)
    filters = reduce(operator.and_, conditions) if conditions else None
    rows: list[dict[str, Any]] = delta.rows_of(opened, filters=filters).sort_by("number").to_pylist()
    return rows


def _total_before(opened: DeltaTable, rows: Sequence[Mapping[str, Any]]) -> Totals:
    """The total of the epochs before these rows, which an older program wrote without totals."""
    total = Totals()
    for first in range(ARCHIVE_EPOCH, rows[0]["number"] if rows else ARCHIVE_EPOCH, _AT_ONCE):
        for row in _rows(opened, first, min(first + _AT_ONCE, rows[0]["number"]) - 1):
            total += Totals(_counts_from_json(row["counted"]), _rows_from_json(row["rows"]))
    return total


def _epoch(row: Mapping[str, Any], before: Totals) -> Epoch:
    """The epoch of a row; ``before`` is the total of the epochs before it, for a row without totals."""
    counted, rows = _counts_from_json(row["counted"]), _rows_from_json(row["rows"])
    return Epoch(
        number=row["number"],
        start=Cut.parse(row["start"]),
        end=Cut.parse(row["end"]),
        counted=counted,
        rows=rows,
        versions=_rows_from_json(row["versions"]),
        batch_time_ms=row["batch_time_ms"],
        committed_at=row["committed_at"],
        total=Totals(_counts_from_json(row["total_counted"]), _rows_from_json(row["total_rows"]))
        if row.get("total_rows")
        else before + Totals(counted, rows),
        marks=marks_from_json(row.get("marks")),
    )


def _counts_to_json(counts: Mapping[str, RecordCounts]) -> str:
    return json.dumps({place: values.as_list for place, values in sorted(counts.items())})


def _counts_from_json(text: str) -> dict[str, RecordCounts]:
    return {place: RecordCounts(*values) for place, values in json.loads(text).items()}


def _rows_from_json(text: str) -> dict[Name, int]:
    return {Name(view): number for view, number in json.loads(text).items()}
