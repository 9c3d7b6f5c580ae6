"""Cells of tables as JSON holds them, and the guard that keeps what one stage cannot read out of the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa
from deltalake.exceptions import DeltaError

from core.errors import LkError, Usage
from core.safe_text import shortened
from flows.trace.stages import Cell, Row
from infra.library_errors import first_line

LONGEST = 4_096  # characters of a cell, and bytes of a record, that are shown
MOST_ROWS = 20  # of a table that are shown
T = TypeVar("T")


def row_of(values: Mapping[str, Any]) -> Row:
    """A row of a table."""
    return {name: cell(value) for name, value in values.items()}


def cell(value: Any) -> Cell:
    """A value; times are ISO texts in UTC, decimals and nested values are texts."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return shortened(value[: LONGEST + 1].decode("utf-8", "backslashreplace"), LONGEST)
    if isinstance(value, date | Decimal | str):
        return shortened(str(value), LONGEST)
    return shortened(json.dumps(value, default=lambda inner: cell(inner), sort_keys=True), LONGEST)


def guarded(read: Callable[[], T], refused: Callable[[str], T]) -> T:
    """What a stage reads; where it cannot be read, ``refused`` of the reason. A wrong argument is raised."""
    try:
        return read()
    except Usage:
        raise
    except LkError as e:
        return refused(problem_text(e))
    except (OSError, ValueError, OverflowError, pa.ArrowException, DeltaError) as e:
        return refused(first_line(str(e)))


def problem_text(error: LkError) -> str:
    """An error as the problem of a stage."""
    return "; ".join(filter(None, (error.what, error.where, error.fix)))


def noting_problem(read: Callable[[], T], nothing: T, problems: list[str]) -> T:
    """What a stage reads; where it cannot be read, ``nothing``, and the reason is added to ``problems``."""

    def refused(reason: str) -> T:
        problems.append(reason)
        return nothing

    return guarded(read, refused)
