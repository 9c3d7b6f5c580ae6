"""Rows are found by their keys and windows, also where these are null, and a row that is not there is named."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from core.measures import Column
from flows.trace.cells import row_of
from flows.trace.stages import Row
from flows.trace.table_rows import absent, at_places, distinct_rows, first_rows, newest_epochs
from infra.lake import delta, idempotent_writes

COLUMNS = (Column("ticker", "string"), Column("day", "timestamp"))
DAY, NEXT = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
SCHEMA = pa.schema({"ticker": pa.string(), "day": pa.timestamp("us", "UTC"), "last_epoch": pa.int64()})


def places(*rows: tuple[str | None, datetime]) -> pa.Table:
    return pa.Table.from_pylist([{"ticker": ticker, "day": day} for ticker, day in rows], SCHEMA.remove(2))


def written(folder: Path) -> str:
    path = str(folder / "table")
    delta.create(path, SCHEMA)
    rows = [("A", DAY, 1), ("A", DAY, 3), ("A", NEXT, 2), (None, DAY, 5)]
    idempotent_writes.append_once(
        path, pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA), "w", 0
    )
    return path


def test_every_place_is_looked_up_however_many_rows_the_first_ones_have(tmp_path: Path) -> None:
    """A rollup with two sources has two rows for a place: the first rows need not have every place."""
    path, where = written(tmp_path), places(("A", DAY), ("A", NEXT), (None, DAY))
    expected: list[Row] = [row_of(row) for row in where.to_pylist()]
    shown = first_rows(path, SCHEMA.names, at_places(COLUMNS, where), 2)
    assert len(absent(expected, [row_of(row) for row in shown])) > 0
    distinct = distinct_rows(path, ["ticker", "day"], at_places(COLUMNS, where))
    assert (len(distinct), absent(expected, distinct)) == (3, ())


def test_only_rows_of_the_places_are_read(tmp_path: Path) -> None:
    path = written(tmp_path)

    def epochs(places: pa.Table, most: int = 9) -> list[int]:
        return [row["last_epoch"] for row in first_rows(path, SCHEMA.names, at_places(COLUMNS, places), most)]

    assert epochs(places(("A", DAY))) == [1, 3]
    assert epochs(places(("A", NEXT), (None, DAY))) == [2, 5]
    assert epochs(places(("A", DAY), ("A", NEXT)), most=2) == [1, 3]
    assert epochs(places()) == []
    assert epochs(places(("'; DROP TABLE", DAY))) == []


def test_the_newest_epoch_of_each_unit_is_found(tmp_path: Path) -> None:
    path = written(tmp_path)
    units = places(("A", DAY), ("A", NEXT), (None, DAY))
    assert newest_epochs(path, COLUMNS, units, 3) == {
        ("A", "2026-01-01T00:00:00Z"): 3,
        (None, "2026-01-01T00:00:00Z"): 5,
    }


def test_a_place_without_a_row_is_named() -> None:
    expected: list[Row] = [{"ticker": "A", "_segment": 0}, {"ticker": None, "_segment": 60_000}]
    assert absent(expected, expected) == ()
    assert absent(expected, expected[:1]) == ("ticker None, _segment 60000",)
    assert absent(expected, []) == ("ticker A", "ticker None, _segment 60000")
