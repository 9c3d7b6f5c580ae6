"""Table speed/<run>/_epochs, the manifest of a run: one row for each committed epoch."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from core.cut import Cut
from core.identifiers import Name
from core.log_mark import LogMark, marks_from_json, marks_to_json
from core.positions import LogPartition
from core.record_counts import RecordCounts, Totals
from infra.control import runs
from infra.control.claims import Claim
from infra.control.runs import Run
from infra.control.store import TIME
from infra.lake import delta, table_paths
from infra.settings import Settings

EPOCHS = pa.schema(
    [("number", pa.int64())]
    + [(name, pa.string()) for name in ("start", "end", "counted", "rows", "versions")]
    + [("batch_time_ms", pa.int64()), ("committed_at", TIME)]
    + [(name, pa.string()) for name in ("total_counted", "total_rows", "marks")]
)
AT_ONCE = 5_000  # rows of an older program that are read together
ARCHIVE_EPOCH = -1  # the number of the epoch that was computed from the archive, and of what is before epoch 0


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
    marks: Mapping[LogPartition, LogMark] = field(default_factory=dict)


def read_up_to(run: Run, last: Epoch | None) -> Cut:
    """The end offsets up to which a run has read the log: of its last epoch, else where its first one begins."""
    return last.end if last else run.origin


def read_epochs(settings: Settings, id: Name, first: int | None = None, last: int | None = None) -> tuple[Epoch, ...]:
    """The committed epochs of a run from number ``first`` to ``last``, both included, in order; all by default."""
    opened = _open(settings, id)
    return _read(opened, first, last) if opened else ()


def last_epoch(settings: Settings, id: Name) -> Epoch | None:
    """The last committed epoch of a run."""
    committed = open_committed(settings, id)
    return read_epoch(*committed) if committed else None


def number_of(last: Epoch | None) -> int:
    """The number of a run's last committed epoch; -1 for none."""
    return last.number if last else -1


def last_epoch_number(settings: Settings, id: Name) -> int:
    """The number of the last committed epoch of a run; -1 for none."""
    return number_of(last_epoch(settings, id))


def committed_size(settings: Settings, id: Name) -> int:
    """How many offsets a run has committed; 0 before its first epoch."""
    last = last_epoch(settings, id)
    return last.end.size if last else 0


def last_epochs(settings: Settings, id: Name, count: int) -> tuple[Epoch, ...]:
    """The last epochs of a run, ``count`` of them or all if there are fewer, in order."""
    committed = open_committed(settings, id)
    if committed is None:
        return ()
    opened, last = committed
    return _read(opened, last - count + 1, last)


def epoch_numbered(settings: Settings, id: Name, number: int) -> Epoch | None:
    """One epoch of a run; None when it was not committed."""
    opened = _open(settings, id)
    return read_epoch(opened, number) if opened else None


def claimed_epoch(settings: Settings, run: Run, claim: Claim) -> int | None:
    """The number of the epoch of a run that ends at a claimed cut; -1 for the start of the run.

    None for the end of another epoch than the claimed one: a fold never crosses a claimed epoch, it may cross others.
    """
    cut = claim.cut.only(run.topics)
    if run.start == cut and not run.prefix.ends:
        return ARCHIVE_EPOCH
    epoch = epoch_numbered(settings, run.id, claim.epoch) if claim.run == run.id else None
    return epoch.number if epoch and epoch.end == cut else None


def epoch_row(epoch: Epoch) -> pa.Table:
    """The manifest row of an epoch."""
    row: dict[str, Any] = {
        "number": epoch.number,
        "start": str(epoch.start),
        "end": str(epoch.end),
        "counted": counts_to_json(epoch.counted),
        "rows": json.dumps(dict(epoch.rows), sort_keys=True),
        "versions": json.dumps(dict(epoch.versions), sort_keys=True),
        "batch_time_ms": epoch.batch_time_ms,
        "committed_at": epoch.committed_at,
        "total_counted": counts_to_json(epoch.total.partitions),
        "total_rows": json.dumps(dict(epoch.total.rows), sort_keys=True),
        "marks": marks_to_json(epoch.marks),
    }
    return pa.Table.from_pylist([row], schema=EPOCHS)


def open_committed(settings: Settings, id: Name) -> tuple[DeltaTable, int] | None:
    """The table of a run and the number of its last committed epoch; None without one."""
    opened = _open(settings, id)
    last = _last_number(opened, id) if opened else None
    return (opened, last) if opened and last is not None else None


def _open(settings: Settings, id: Name) -> DeltaTable | None:
    """The table of a run; None before its first start."""
    path = table_paths.manifest(settings, id)
    return delta.table(path) if delta.exists(path) else None


def _last_number(opened: DeltaTable, id: Name) -> int | None:
    """The number of the last committed epoch, from the log of the table."""
    last = opened.transaction_version(runs.txn_app(id))
    if last is not None:
        return int(last)
    return ARCHIVE_EPOCH if opened.transaction_version(runs.archive_app(id)) is not None else None


def read_epoch(opened: DeltaTable, number: int) -> Epoch | None:
    """One epoch of an open table, with its total; None without its row."""
    epochs = _read(opened, number, number)
    return epochs[0] if len(epochs) == 1 else None


def _read(opened: DeltaTable, first: int | None = None, last: int | None = None) -> tuple[Epoch, ...]:
    rows = read_rows(opened, first, last)
    total = Totals() if rows and rows[0].get("total_rows") else _total_before(opened, rows)
    epochs = []
    for row in rows:
        epochs.append(parsed_epoch(row, total))
        total = epochs[-1].total
    return tuple(epochs)


def read_rows(
    opened: DeltaTable,
    first: int | None,
    last: int | None,
    dataset: Any = None,
    columns: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """The rows from number ``first`` to ``last``, both included, in order.

    ``dataset`` is that of the table (``delta.dataset``), which makes several reads cheap. So do few ``columns``.
    """
    number, conditions = pc.field("number"), []
    if first is not None:
        conditions.append(number >= first)
    if last is not None:
        conditions.append(number <= last)
    filters = reduce(operator.and_, conditions) if conditions else None
    names = columns and ["number", *columns]
    read = (
        delta.read_opened(opened, names, filters) if dataset is None else delta.rows_in(opened, dataset, names, filters)
    )
    rows: list[dict[str, Any]] = read.sort_by("number").to_pylist()
    return rows


def _total_before(opened: DeltaTable, rows: Sequence[Mapping[str, Any]]) -> Totals:
    """The total of the epochs before these rows, which an older program wrote without totals."""
    total = Totals()
    for first in range(ARCHIVE_EPOCH, rows[0]["number"] if rows else ARCHIVE_EPOCH, AT_ONCE):
        for row in read_rows(opened, first, min(first + AT_ONCE, rows[0]["number"]) - 1):
            total += Totals(counts_from_json(row["counted"]), rows_from_json(row["rows"]))
    return total


def parsed_epoch(row: Mapping[str, Any], before: Totals) -> Epoch:
    """The epoch of a row; ``before`` is the total of the epochs before it, for a row without totals."""
    counted, rows = counts_from_json(row["counted"]), rows_from_json(row["rows"])
    return Epoch(
        number=row["number"],
        start=Cut.parse(row["start"]),
        end=Cut.parse(row["end"]),
        counted=counted,
        rows=rows,
        versions=rows_from_json(row["versions"]),
        batch_time_ms=row["batch_time_ms"],
        committed_at=row["committed_at"],
        total=Totals(counts_from_json(row["total_counted"]), rows_from_json(row["total_rows"]))
        if row.get("total_rows")
        else before + Totals(counted, rows),
        marks=marks_from_json(row.get("marks")),
    )


def counts_to_json(counts: Mapping[str, RecordCounts]) -> str:
    """Counts of partitions as the table stores them."""
    return json.dumps({where: values.as_list for where, values in sorted(counts.items())})


def counts_from_json(text: str) -> dict[str, RecordCounts]:
    """The reverse of ``counts_to_json``."""
    return {where: RecordCounts(*values) for where, values in json.loads(text).items()}


def rows_from_json(text: str) -> dict[Name, int]:
    """View -> a number, as the table stores rows and versions."""
    return {Name(view): number for view, number in json.loads(text).items()}
