"""The manifest rows of many epochs, made in processes of their own: Python takes 0.2 ms for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from flows.bench.age.epoch_plan import EpochPlan
from infra.control.manifest import Epoch, epoch_row

_COMMIT_MS = 150  # from the plan of an epoch to its commit
_COLUMNS = ("records", "decoded", "quarantined")
Counted = dict[int, Totals]  # number of an epoch -> what it counted


@dataclass(frozen=True)
class ManifestPart:
    """Epochs ``first`` to ``last`` of a plan. ``counts`` has one table for each topic (see ``totals_of_tables``).

    ``before`` counts all epochs before them; ``versions`` are those of the tables of the views.
    """

    plan: EpochPlan
    first: int
    last: int
    counts: Mapping[Name, pa.Table]
    before: Totals
    versions: Mapping[Name, int]


def manifest_rows(part: ManifestPart) -> pa.Table:
    """The rows of these epochs, as the speed job writes them."""
    counted, total, start = _by_epoch(part), part.before, part.plan.end_of(part.first - 1)
    rows = []
    for number in range(part.first, part.last + 1):
        added, end = counted.get(number, Totals()), part.plan.end_of(number)
        total = total + added
        rows.append(epoch_row(_epoch(part, number, start, end, added, total)))
        start = end
    return pa.concat_tables(rows).combine_chunks()


def totals_of_tables(counts: Mapping[Name, pa.Table]) -> Totals:
    """What all epochs of some tables counted.

    A table has a row for each partition and epoch: ``partition``, ``epoch``, the counts, and ``rows_<view>``.
    """
    total = Totals()
    for topic, table in counts.items():
        views = _views(table)
        summed = [(name, "sum") for name in (*_COLUMNS, *views)]
        for row in table.group_by("partition").aggregate(summed).to_pylist():
            total += _counted(topic, {name.removesuffix("_sum"): value for name, value in row.items()}, views)
    return total


def _epoch(part: ManifestPart, number: int, start: Cut, end: Cut, added: Totals, total: Totals) -> Epoch:
    planned_ms = part.plan.time_of(number)
    return Epoch(
        number=number,
        start=start,
        end=end,
        counted=added.partitions,
        rows={view: added.rows.get(view, 0) for view in part.versions},
        versions=part.versions,
        batch_time_ms=planned_ms,
        committed_at=datetime.fromtimestamp((planned_ms + _COMMIT_MS) / 1_000, UTC),
        total=total,
    )


def _by_epoch(part: ManifestPart) -> Counted:
    counted: Counted = {}
    for topic, table in part.counts.items():
        views = _views(table)
        for row in table.to_pylist():
            added = _counted(topic, row, views)
            before = counted.get(row["epoch"])
            counted[row["epoch"]] = before + added if before else added
    return counted


def _counted(topic: Name, row: Mapping[str, int], views: Mapping[str, Name]) -> Totals:
    records = RecordCounts(*(row[name] for name in _COLUMNS))
    return Totals({f"{topic}/{row['partition']}": records}, {view: row[column] for column, view in views.items()})


def _views(table: pa.Table) -> dict[str, Name]:
    """Column with the rows of a view -> the view."""
    columns = [name for name in table.column_names if name.startswith("rows_")]
    return {column: Name(column.removeprefix("rows_")) for column in columns}
