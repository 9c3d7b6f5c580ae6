"""Trino SQL that merges parts of a view: generated from its measures, never written by hand."""

from __future__ import annotations

from collections.abc import Mapping

from core.ident import Name
from core.view import ROWS, View


def part_sql(view: View, table: str, where: str | None = None) -> str:
    """The stored columns of one table; ``table`` and ``where`` are SQL text made from Names and integers."""
    return _select([_column(column.name) for column in view.stored_columns], table, where=where)


def merge_sql(view: View, parts: list[str]) -> str:
    """All stored columns, hidden ones too, one row per key."""
    keys = [_column(column.name) for column in view.key_columns]
    combined = {name: sql for measure in view.measures for name, sql in measure.combine.items()}
    values = [f"{sql} AS {_column(name)}" for name, sql in {**combined, ROWS: f"sum({ROWS})"}.items()]
    return _select(keys + values, _union(parts), group=keys)


def serving_sql(view: View, parts: list[str]) -> str:
    """What people see: keys, window, measures and presentation, without hidden columns."""
    stored = [_column(column.name) for column in view.stored_columns if not column.name.startswith("_")]
    shown = [f"{shown.sql} AS {_column(shown.name)}" for shown in view.shown]
    return _select(stored + shown, f"({merge_sql(view, parts)})")


def ledger_sql(parts: Mapping[Name, list[str]]) -> str:
    """One row per view: its name, and how many view rows its parts are made of."""
    rows = f"coalesce(sum({ROWS}), 0)"
    return " UNION ALL ".join(_select([f"'{view}'", rows], _union(found)) for view, found in parts.items())


def comments(view: View) -> dict[str, str]:
    """Column -> comment, for the columns that ``serving_sql`` shows."""
    window = {view.window.name: view.window.comment} if view.window else {}
    keys = {key.name: key.comment for key in view.keys}
    measures = {measure.name: measure.comment for measure in view.measures}
    return {**keys, **window, **measures, **{shown.name: shown.comment for shown in view.shown}}


def _union(parts: list[str]) -> str:
    if not parts:
        raise ValueError("a view is merged from at least one part")
    return f"({' UNION ALL '.join(parts)})"


def _select(columns: list[str], source: str, *, where: str | None = None, group: list[str] | None = None) -> str:
    clauses = ["SELECT", ", ".join(columns), "FROM", source]
    clauses += ["WHERE", where] if where else []
    clauses += ["GROUP BY", ", ".join(group)] if group else []
    return " ".join(clauses)


def _column(name: str) -> str:
    """A quoted column; hidden ones start with an underscore."""
    Name(name.removeprefix("_"))
    return f'"{name}"'
