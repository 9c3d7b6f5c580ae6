"""The verbs of views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out, table

if TYPE_CHECKING:
    from core.catalog import Catalog
    from core.view import View
    from infra.definitions.definition_files import DefinitionProblem


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def views(ctx: click.Context) -> None:
    """Lists the views; `lk views check` finds mistakes in their files."""
    if ctx.invoked_subcommand is None:
        emit(catalog(settings()), _print_views)


@views.command("check")
@json_option
def views_check() -> int:
    """Reports every mistake in the files of topics and views, with file and line."""
    from flows.check_definitions import check

    problems = check(settings())
    emit(problems, _print_problems)
    return 1 if problems else 0


def _print_views(found: Catalog) -> None:
    rows = [(v.name, ", ".join(v.sources), _grain(v), v.comment) for v in found.views.values()]
    table("", ["view", "from", "one row per", "what it is"], rows)


def _grain(view: View) -> str:
    from core.view import Rollup

    columns = view.key_columns if isinstance(view, Rollup) else view.unit_columns[:-1]
    return ", ".join(column.name for column in columns)


def _print_problems(problems: list[DefinitionProblem]) -> None:
    for problem in problems:
        out().print(f"{problem.file}:{problem.line}: {problem.text}", markup=False, highlight=False)
    out().print(f"{len(problems)} mistakes" if problems else "no mistakes")


COMMANDS = [views]
