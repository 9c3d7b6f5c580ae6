"""An example of a view: a few records in, the exact rows out. Data only; no part of any digest.

A view's file may define ``EXAMPLE``; `lk views test` decodes the records, computes the view and compares the rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal

from core.measures import Column
from core.unix_time import epoch_millis
from core.view import View, visible_columns

NEW_YEAR = "2026-01-01T00:00:00Z"
_MILLIS = re.compile(r"ms\(([0-9T:.Z-]+)\)")
_CELL = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^|]*?)\s*(?:\||$)')

Cells = tuple[str | None, ...]


@dataclass(frozen=True)
class ExampleRecord:
    """A record of an example. A plain text is the value of a record with these defaults.

    ``value`` None deletes the key of a changelog. Without a ``key`` the record has the one that `lk produce` would
    give it. ``at`` is the timestamp of the record. Offsets count from 0 in each partition.
    """

    value: str | None
    key: str | None = None
    at: str = NEW_YEAR
    partition: int = 0


@dataclass(frozen=True)
class Example:
    """Records per topic, in the order of the log, and the rows that the view computes from them, in any order.

    In a value, ``ms(2026-01-01T00:00:00Z)`` stands for that time in epoch milliseconds. ``rows`` is a table: a line
    of column names, then a line per row, cells between ``|``. A cell is written as a plain text, ``null``, or as a
    JSON string where the text would be unclear. ``processed_at`` is when the epochs of the example run.
    """

    records: Mapping[str, Sequence[str | ExampleRecord]]
    rows: str
    processed_at: str = NEW_YEAR


def example_records(view: View, example: Example) -> dict[str, list[ExampleRecord]]:
    """The records of each source, with times in milliseconds; ValueError for other topics and unreadable times."""
    others = sorted(set(example.records) - set(view.sources))
    if others:
        raise ValueError(f"records of topic {others[0]}, which is not a source of the view")
    millis_of_text(example.processed_at)
    return {topic: [_record(record) for record in records] for topic, records in example.records.items()}


def expected_rows(view: View, example: Example) -> list[Cells]:
    """The rows of the table in the order of ``visible_columns``, as canonical texts; ValueError where it is wrong."""
    lines = [line.strip() for line in example.rows.strip().splitlines()]
    header, *rows = [_split(line) for line in lines] or [[]]
    columns = {column.name: column for column in visible_columns(view)}
    if sorted(header) != sorted(columns):
        raise ValueError(f"the table has the columns {', '.join(header)}; the view stores {', '.join(columns)}")
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise ValueError(f"row {number} has {len(row)} cells, not {len(header)}")
    by_name = [dict(zip(header, row, strict=True)) for row in rows]
    return [
        tuple(_canonical(column, row[name], number) for name, column in columns.items())
        for number, row in enumerate(by_name, 1)
    ]


def millis_of_text(time: str) -> int:
    """Epoch milliseconds of an ISO 8601 time with a zone; ValueError for any other text."""
    return epoch_millis(_moment(time))


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time {text!r} has no zone: write {text}Z")
    return moment


def _record(record: str | ExampleRecord) -> ExampleRecord:
    full = ExampleRecord(record) if isinstance(record, str) else record
    millis_of_text(full.at)
    if full.value is None:
        return full
    return replace(full, value=_MILLIS.sub(lambda match: str(millis_of_text(match[1])), full.value))


def _split(line: str) -> list[str]:
    cells, position = [], 0
    while position <= len(line):
        match = _CELL.match(line, position)
        if match is None:
            raise ValueError(f"a cell is not readable: {line[position:][:80]}")
        cells.append(match[1])
        position = match.end() if line[match.end() - 1 : match.end()] == "|" else len(line) + 1
    return cells


def _canonical(column: Column, cell: str, number: int) -> str | None:
    if cell == "null":
        return None
    try:
        text = str(json.loads(cell)) if cell.startswith('"') else cell
        return _typed_text(column.type, text)
    except (ValueError, ArithmeticError):
        zone = " with a zone" if column.type == "timestamp" else ""
        raise ValueError(f"row {number}: {column.name}: {cell!r} is not a {column.type}{zone}") from None


def _typed_text(kind: str, text: str) -> str:
    """A value as text, in the one way in which computed values are written too."""
    if kind in ("bigint", "int"):
        return str(int(text))
    if kind == "boolean":
        return {"true": "true", "false": "false"}.get(text) or _refuse(text)
    if kind == "date":
        return date.fromisoformat(text).isoformat()
    if kind == "timestamp":
        moment = datetime.fromisoformat(text)
        return canonical_time(
            moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment.tzinfo else _refuse(text)
        )
    if kind.startswith("decimal"):
        value, scale = Decimal(text), int(kind.rstrip(")").partition(",")[2] or 0)
        exact = value.quantize(Decimal(1).scaleb(-scale))
        return f"{exact:f}" if exact == value else _refuse(text)
    return text


def canonical_time(text: str) -> str:
    """A UTC time with six decimals, without zeros at its end."""
    return re.sub(r"\.?0*Z$", "Z", text) if "." in text else text


def _refuse(text: str) -> str:
    raise ValueError(text)
