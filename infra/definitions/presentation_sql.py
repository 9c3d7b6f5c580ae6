"""The SQL of presentation columns, which only Trino can check; it runs none of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.catalog import Catalog
from core.sql_names import spliced
from core.view import View, visible_columns
from infra.definitions.definition_problem import DefinitionProblem, line_of
from infra.settings import Settings
from infra.trino.trino_types import trino_type

_ONLY = "only"


@dataclass(frozen=True)
class PresentationQuery:
    """A query of Trino, invalid if the SQL of a presentation column is, and where that column is defined."""

    file: str
    line: int
    sql: str


def presentation_queries(catalog: Catalog) -> list[PresentationQuery]:
    """A query for each presentation column. Only Trino can check their SQL."""
    queries: list[PresentationQuery] = []
    for view in catalog.views.values():
        path = Path(catalog.files["view", view.name])
        for name, sql in shown_sql(view).items():
            queries.append(PresentationQuery(str(path), _line(path, view, name), sql))
    return queries


def _line(path: Path, view: View, name: str) -> int:
    kind = type(view).__name__
    return line_of(path, kind, view.name) if name == _ONLY else line_of(path, "Shown", name, kind)


def shown_sql(view: View) -> dict[str, str]:
    """Presentation column -> a Trino query that is invalid when its SQL is wrong; it reads no table."""
    stored = [column for column in view.stored_columns if not column.type.startswith("struct")]
    values = ", ".join(f'CAST(NULL AS {trino_type(column.type)}) AS "{column.name}"' for column in stored)
    visible = [f'"{column.name}"' for column in visible_columns(view) if column in stored]
    sql_of = {shown.name: f"{spliced(shown.sql)} AS {shown.name}" for shown in view.shown}
    queries = {name: _of_one_row([*visible, sql], values) for name, sql in sql_of.items()}
    if view.only is not None:
        shown_rows = _of_one_row([*visible, *sql_of.values()], values)
        queries[_ONLY] = f"SELECT * FROM ({shown_rows}) WHERE {view.only}"  # noqa: S608 - a definition's SQL
    return queries


def _of_one_row(columns: Sequence[str], values: str) -> str:
    """Selects columns as the served view does: beside the others, so that no aggregate is valid."""
    return " ".join(["SELECT", ", ".join(columns), "FROM", f"(SELECT {values})"])


def trino_problems(settings: Settings, queries: Sequence[PresentationQuery]) -> list[DefinitionProblem]:
    """The queries that Trino calls invalid; it runs none, as definition files may have written them.

    Raises TryAgain when it is unreachable.
    """
    from infra.trino.metastore import SqlRefused, as_reader, query

    problems: set[DefinitionProblem] = set()
    for presentation in queries:
        try:
            query(as_reader(settings), f"EXPLAIN (TYPE VALIDATE) {presentation.sql}")
        except SqlRefused as e:
            problems.add(DefinitionProblem(presentation.file, presentation.line, e.what))
    return sorted(problems)
