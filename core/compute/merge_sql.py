"""Generates the Trino SQL that merges the build and the partial rows of a view."""

from __future__ import annotations

from collections.abc import Mapping

from core.compute import epoch_range
from core.identifiers import Name
from core.sql_names import spliced
from core.view import ROWS, Keyed, Rollup, View, visible_columns

_EPOCH = "_epoch"  # orders the rows of a unit of a keyed view by age
_BUILT = f"BIGINT '{epoch_range.BEFORE_ALL}'"  # a build is older than every epoch


def batch_part(view: View, table: str) -> str:
    """Selects the rows of a build; ``table`` is SQL text made from Names."""
    return _part(view, table, _BUILT)


def speed_part(view: View, table: str, after: int, until: int | None = None) -> str:
    """Selects the rows of a run's epochs after ``after`` up to ``until``; ``table`` is SQL text made from Names.

    Beside a build, ``after`` is the epoch that ends at its cut, so no event is in both parts and none is in neither.
    """
    return _part(view, table, "last_epoch", epoch_range.within(after, until))


def merge_sql(view: View, parts: list[str]) -> str:
    """Merges parts into all stored columns: adds up the rows of a rollup, keeps the newest rows of each unit."""
    return _newest(view, parts) if isinstance(view, Keyed) else _combined(view, parts)


def serving_sql(view: View, parts: list[str]) -> str:
    """Selects what people see: keys, window, measures and presentation columns, without hidden columns."""
    stored = [_column(column.name) for column in visible_columns(view)]
    shown = [f"{spliced(shown.sql)} AS {_column(shown.name)}" for shown in view.shown]
    all_rows = _select(stored + shown, f"({merge_sql(view, parts)})")
    return all_rows if view.only is None else _select(["*"], f"({all_rows})", where=view.only)


def no_row_sql(parts: Mapping[Name, list[str]]) -> str:
    """Selects no row from the parts of views: it fails where Trino has no such table or column, or may not read it."""
    return " UNION ALL ".join(_select([f"'{view}'"], _union(part), where="false") for view, part in parts.items())


def comments(view: View) -> dict[str, str]:
    """Maps each column of ``serving_sql`` to its comment."""
    keys = {key.name: key.comment for key in view.keys}
    shown = {shown.name: shown.comment for shown in view.shown}
    if isinstance(view, Keyed):
        return {**keys, **{result.name: result.comment for result in view.results}, **shown}
    window = {view.window.name: view.window.comment} if view.window else {}
    return {**keys, **window, **{measure.name: measure.comment for measure in view.measures}, **shown}


def _part(view: View, table: str, epoch: str, where: str | None = None) -> str:
    columns = [_column(column.name) for column in view.stored_columns]
    columns += [f"{epoch} AS {_column(_EPOCH)}"] if isinstance(view, Keyed) else []
    return _select(columns, table, where=where)


def _combined(view: Rollup, parts: list[str]) -> str:
    keys = [_column(column.name) for column in view.key_columns]
    combined = {name: sql for measure in view.measures for name, sql in measure.combine.items()}
    values = [f"{sql} AS {_column(name)}" for name, sql in {**combined, ROWS: f"sum({ROWS})"}.items()]
    return _select(keys + values, _union(parts), group=keys)


def _newest(view: Keyed, parts: list[str]) -> str:
    stored = [_column(column.name) for column in view.stored_columns]
    unit = ", ".join(_column(column.name) for column in view.unit_columns)
    newest = f"max({_EPOCH}) OVER (PARTITION BY {unit}) AS _newest"
    ranked = _select(["*", newest], _union(parts))
    return _select(stored, f"({ranked})", where=f"{_EPOCH} = _newest AND {ROWS} > 0")


def _union(parts: list[str]) -> str:
    if not parts:
        raise ValueError("a merge needs at least one part")
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
