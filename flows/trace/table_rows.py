"""Rows of a table by the keys of other rows, read with Arrow: files and row groups without them are skipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.measures import Column
from core.view import SEGMENT, Keyed, View
from flows.trace.cells import cell
from flows.trace.stages import Cell, Row
from infra.lake import delta


def place_columns(view: View) -> tuple[Column, ...]:
    """The columns that say where a record belongs in a view: keys and window, or the unit of a keyed view."""
    return view.unit_columns if isinstance(view, Keyed) else view.key_columns


def at_places(columns: Sequence[Column], places: pa.Table) -> pc.Expression:
    """A condition for the rows whose columns have the values of one of ``places``; a null is equal to a null."""
    names = [column.name for column in columns]
    of_rows = []
    for number in range(places.num_rows):
        cells = [_equal(name, places[name][number]) for name in names]
        of_rows.append(reduce(and_, cells) if cells else pc.scalar(True))
    return reduce(or_, of_rows) if of_rows else pc.scalar(False)


def first_rows(path: str, columns: Sequence[str], condition: pc.Expression, most: int) -> list[dict[str, Any]]:
    """At most ``most`` rows that meet a condition, in order; no more of the table is read than these need."""
    rows: list[dict[str, Any]] = []
    for row in _rows(path, columns, condition):
        rows.append(row)
        if len(rows) == most:
            break
    return sorted(rows, key=lambda row: [str(row[name]) for name in columns])


def newest_epochs(path: str, columns: Sequence[Column], units: pa.Table, epoch: int) -> dict[tuple[Cell, ...], int]:
    """Unit -> the newest epoch that computed it, of the epochs from ``epoch`` on."""
    names = [column.name for column in columns]
    condition = at_places(columns, units) & (pc.field("last_epoch") >= epoch)
    newest: dict[tuple[Cell, ...], int] = {}
    for batch in delta.batches(path, [*names, "last_epoch"], condition):
        for row in pa.Table.from_batches([batch]).group_by(names).aggregate([("last_epoch", "max")]).to_pylist():
            unit = tuple(cell(row[name]) for name in names)
            newest[unit] = max(row["last_epoch_max"], newest.get(unit, -1))
    return newest


def distinct_rows(path: str, columns: Sequence[str], condition: pc.Expression) -> list[Row]:
    """The values of some columns among the rows that meet a condition, each combination once."""
    rows = {tuple(cell(row[name]) for name in columns) for row in _rows(path, columns, condition)}
    return [dict(zip(columns, row, strict=True)) for row in rows]


def absent(places: Sequence[Row], rows: Sequence[Row]) -> tuple[str, ...]:
    """The places, as texts, that none of the rows has."""
    names = list(places[0]) if places else []
    present = {tuple(row[name] for name in names) for row in rows}
    return tuple(place_text(place) for place in places if tuple(place.values()) not in present)


def place_text(place: Row) -> str:
    """A place as people read it."""
    return ", ".join(f"{name} {value}" for name, value in place.items() if name != SEGMENT or value != 0) or "all"


def _rows(path: str, columns: Sequence[str], condition: pc.Expression) -> Iterator[dict[str, Any]]:
    for batch in delta.batches(path, columns, condition):
        yield from batch.to_pylist()


def _equal(name: str, value: pa.Scalar) -> pc.Expression:
    return pc.field(name) == value if value.is_valid else pc.field(name).is_null()
