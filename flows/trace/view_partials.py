"""The rows of a run that the record is in: partial rows of a rollup, or the event and the units of a keyed view."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from core.catalog import Catalog
from core.compute.keyed_events import EVENT, HASH, SOURCE, position_of
from core.identifiers import Name
from core.positions import RecordPosition
from core.view import Keyed, Rollup, View
from flows.trace.cells import MOST_ROWS, guarded, row_of
from flows.trace.row_changes import RowChanges
from flows.trace.run_epochs import RunStage
from flows.trace.stages import PartialRow, Row, ViewPartials
from flows.trace.table_rows import (
    absent,
    at_places,
    distinct_rows,
    first_rows,
    newest_epochs,
    place_columns,
    place_text,
)
from infra.control.manifest import Epoch
from infra.lake import data_files, delta, table_paths
from infra.settings import Settings
from speed.epoch.topic_results import Rows, in_window
from speed.tables import fold, fold_ranges, schemas


@dataclass(frozen=True)
class Contribution:
    """One record in one view: the rows that it alone gives, and of a keyed view its packed event.

    ``changes`` are the rows of a served keyed view that it changes; a text says why they are not known.
    """

    view: View
    position: RecordPosition
    rows: pa.Table
    kept: pa.Table | None = None
    changes: RowChanges | str | None = None


def read_partials(settings: Settings, catalog: Catalog, stage: RunStage, contribution: Contribution) -> ViewPartials:
    """The record's rows in the table of one run; none when no epoch of the run took the record."""
    name = Name(contribution.view.name)
    unread = ViewPartials(stage.run.id, table_paths.speed(settings, stage.run.id, name))
    if stage.epoch is None:
        return replace(unread, note=f"no epoch of the run has the record: {stage.stage.reading}")
    if stage.run.views[name] != catalog.digest(name):
        return replace(unread, note="the run has an earlier definition, so that its rows are not looked up")
    epoch = stage.epoch
    return guarded(
        lambda: _read(settings, stage.run.id, epoch, contribution, unread), lambda why: replace(unread, problem=why)
    )


def places_in(view: View, rows: pa.Table, epoch: Epoch | None) -> pa.Table:
    """The keys and windows of the rows that a record gives; of processing time, the window of its epoch."""
    if isinstance(view, Rollup) and not view.reproducible:
        if epoch is None:
            return rows.slice(0, 0)
        rows = in_window(view, Rows(table=rows), epoch.batch_time_ms).table
    return rows.select([column.name for column in place_columns(view)]).slice(0, MOST_ROWS)


def _read(
    settings: Settings, run: Name, epoch: Epoch, contribution: Contribution, unread: ViewPartials
) -> ViewPartials:
    places = places_in(contribution.view, contribution.rows, epoch)
    partials = replace(unread, version=delta.version(unread.table))
    if not places.num_rows:
        return replace(partials, note="the record gives this view nothing")
    if isinstance(contribution.view, Keyed):
        return _of_keyed(settings, run, epoch.number, contribution, places, partials)
    number = pc.scalar(epoch.number)
    covering = (pc.field("first_epoch") <= number) & (pc.field("last_epoch") >= number)
    condition = covering & at_places(place_columns(contribution.view), places)
    rows = _partial_rows(settings, run, contribution.view, partials.table, condition)
    missing = absent(_rows_of(places), distinct_rows(partials.table, places.column_names, condition))
    return replace(partials, rows=rows, missing=tuple(f"the partial row of {place}" for place in missing))


def _of_keyed(
    settings: Settings, run: Name, epoch: int, contribution: Contribution, units: pa.Table, partials: ViewPartials
) -> ViewPartials:
    columns, path = place_columns(contribution.view), partials.table
    newest = newest_epochs(path, columns, units, epoch)
    missing = [f"the rows of unit {place_text(u)}" for u in _rows_of(units) if tuple(u.values()) not in newest]
    shown: tuple[PartialRow, ...] = ()
    for number in range(units.num_rows):
        last = newest.get(tuple(_rows_of(units.slice(number, 1))[0].values()))
        if last is not None and len(shown) < MOST_ROWS:
            condition = at_places(columns, units.slice(number, 1)) & (pc.field("last_epoch") == last)
            shown += _partial_rows(settings, run, contribution.view, path, condition)
    kept = _kept_event(table_paths.events(settings, run, Name(contribution.view.name)), epoch, contribution)
    if kept is None:
        missing.append("the event that the run keeps")
    return replace(partials, rows=shown[:MOST_ROWS], kept=kept, missing=tuple(missing))


def _partial_rows(
    settings: Settings, run: Name, view: View, path: str, condition: pc.Expression
) -> tuple[PartialRow, ...]:
    names = schemas.partial_schema(view).names
    stored = first_rows(path, names, condition, MOST_ROWS)
    folded = _folded_to(settings, run, view, path) if stored else []
    rows = []
    for row in stored:
        first, last = row.pop("first_epoch"), row.pop("last_epoch")
        level = 0 if first == last else max([1, *(n for n, end in enumerate(folded, 1) if end >= last)])
        rows.append(PartialRow(row_of(row), first, last, level))
    return tuple(rows)


def _folded_to(settings: Settings, run: Name, view: View, path: str) -> list[int]:
    """Level by level, the last epoch up to which a view is folded; -1 for none."""
    opened = delta.table(path)
    newest = opened.transaction_version(fold.fold_app(run, view.name, 1))
    if newest is None:
        return []
    multiples = fold_ranges.multiples(newest, settings.fold_epochs)
    ends = (opened.transaction_version(fold.fold_app(run, view.name, multiple)) for multiple in multiples)
    return [-1 if end is None else int(end) for end in ends]


def _kept_event(path: str, epoch: int, contribution: Contribution) -> Row | None:
    """The record's event among those of the same key hash and epoch that the run keeps."""
    assert contribution.kept is not None
    columns, condition = [SOURCE, HASH, EVENT, "epoch"], pc.field("epoch") == epoch
    hashes = contribution.kept[HASH].to_pylist()
    for batch in data_files.batches_holding(path, HASH, sorted(hashes), columns, condition):
        for row in batch.to_pylist():
            event = json.loads(row[EVENT])
            if position_of(event) == contribution.position:
                return row_of({"epoch": row["epoch"], **event})
    return None


def _rows_of(table: pa.Table) -> list[Row]:
    return [row_of(row) for row in table.to_pylist()]
