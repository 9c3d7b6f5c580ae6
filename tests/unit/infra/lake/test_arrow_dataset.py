"""A condition on any column gets the rows that meet it, whatever bounds the files have, and reads few files."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from core.identifiers import Name
from core.measures import Column
from infra.lake import compaction, delta, delta_log, idempotent_writes, large_rows
from infra.lake.appended_table import AppendedTable
from infra.lake.arrow_types import arrow_schema
from infra.lake.fence import Fence

TYPES = {
    "number": "bigint",
    "small": "int",
    "text": "string",
    "long_text": "string",
    "price": "decimal(38,18)",
    "ratio": "double",
    "flag": "boolean",
    "at": "timestamp",
    "far": "timestamp",
    "day": "date",
    "value": "binary",
    "nothing": "bigint",
}
SCHEMA = arrow_schema([Column(name, kind) for name, kind in TYPES.items()])
FAR = pa.scalar(2**62, pa.int64()).cast(pa.timestamp("us", "UTC"))  # in the year 148102, which Python has not
ROW = {
    "number": 5,
    "small": -3,
    "text": "AAPL",
    "long_text": "x" * 75,
    "price": Decimal("1234567.123456789123456789"),
    "ratio": 0.1,
    "flag": True,
    "at": datetime(2026, 3, 14, 9, 26, 53, 589793, tzinfo=UTC),
    "far": FAR,
    "day": date(2026, 3, 14),
    "value": b"\x00\xff",
    "nothing": None,
}
LEASE = Fence(Name("run_r1"), 1)


def rows_of(**changed: object) -> pa.Table:
    row = ROW | changed
    return pa.table([pa.array([row[field.name]], field.type) for field in SCHEMA], schema=SCHEMA)


def by_epochs(path: str, rows: pa.Table, number: int) -> None:
    AppendedTable(path).append_once(rows, "test", number, LEASE)


def by_delta_rs(path: str, rows: pa.Table, number: int) -> None:
    idempotent_writes.append_once(path, rows, "test", number)


WRITERS = {"epochs": (by_epochs, by_epochs), "delta-rs": (by_delta_rs, by_delta_rs), "both": (by_epochs, by_delta_rs)}
Writer = Callable[[str, pa.Table, int], None]


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A table with ROW in one file, and in another one of which every value but two is null."""
    path = str(tmp_path / "typed")
    delta.create(path, SCHEMA)
    first, second = WRITERS[request.param]
    first(path, rows_of(), 1)
    second(path, rows_of(**(dict.fromkeys(TYPES) | {"number": 9, "nothing": 1})), 2)
    return path


def conditions(name: str) -> dict[str, pc.Expression]:
    field, value = pc.field(name), rows_of()[name][0]
    if name == "nothing":
        return {"is_null": field.is_null()}
    if name == "flag":  # Arrow does not order them
        return {"==": field == value, "is_valid": field.is_valid()}
    isin = {"isin": field.isin(pa.array([value.as_py()], value.type))} if name != "far" else {}
    both = {"==": field == value, "<=": field <= value} | isin
    return both | ({">=": field >= value, "is_valid": field.is_valid()} if name != "number" else {})


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_condition_on_a_column_of_any_type_gets_its_row(path: str, checkpointed: bool) -> None:
    if checkpointed:
        compaction.checkpoint(path)
    answers = {
        (name, text): delta.read(path, ["number"], condition)["number"].to_pylist()
        for name in TYPES
        for text, condition in conditions(name).items()
    }
    assert answers == {key: [5] for key in answers}
    assert len(answers) > 40
    nulls = {name: delta.read(path, ["number"], pc.field(name).is_null())["number"].to_pylist() for name in TYPES}
    assert nulls == {name: [9] for name in TYPES} | {"number": [], "nothing": [5]}


def test_rows_with_large_values_are_there_whatever_is_compared(path: str) -> None:
    for name in ("long_text", "price", "at", "text", "ratio"):
        where = pc.field(name) == rows_of()[name][0]
        assert [row["value"] for row in large_rows.rows(path, [name], ["value"], where)] == [b"\x00\xff"], name


@pytest.mark.parametrize("column", ["number", "small", "text", "at", "day"])
def test_a_file_whose_bounds_exclude_a_condition_is_not_read(tmp_path: Path, column: str) -> None:
    """The file is gone, which a read would notice."""
    path = str(tmp_path / "typed")
    later = {"number": 6, "small": 0, "text": "MSFT", "at": datetime(2027, 1, 1, tzinfo=UTC), "day": date(2027, 1, 1)}
    delta.create(path, SCHEMA)
    by_epochs(path, rows_of(), 1)
    (first,) = delta.table(path).file_uris()
    by_epochs(path, rows_of(**later), 2)
    (second,) = set(delta.table(path).file_uris()) - {first}
    Path(second).unlink()
    where = pc.field(column) == rows_of()[column][0]
    assert delta.read(path, ["number"], where)["number"].to_pylist() == [5]
    with pytest.raises(Exception, match=r"damaged|missing"):
        delta.read(path, ["number"], pc.field(column) >= rows_of()[column][0])


def test_a_build_has_no_bounds_that_are_not_exact_and_no_whole_text_in_its_log(tmp_path: Path) -> None:
    """delta-rs writes a decimal's bounds as floats, with which other engines compare keys, and texts as they are."""
    path = str(tmp_path / "build")
    long_text = "x" * 1_000_000
    delta.write_new(path, rows_of(long_text=long_text))
    log = Path(path, delta_log.entry(0))
    assert log.stat().st_size < 10_000
    (add,) = [action["add"] for action in map(json.loads, log.read_text("utf-8").splitlines()) if "add" in action]
    bounds = json.loads(add["stats"])["minValues"]
    assert bounds.keys() == {"number", "small", "text", "long_text", "at", "far", "day"}
    for name, value in (("price", ROW["price"]), ("long_text", long_text), ("text", "AAPL"), ("number", 5)):
        where = pc.field(name) == pa.scalar(value, SCHEMA.field(name).type)
        assert delta.read(path, ["number"], where)["number"].to_pylist() == [5], name
        assert delta.read(path, ["number"], pc.field(name) >= pa.scalar(value, SCHEMA.field(name).type)).num_rows == 1
