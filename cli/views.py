"""The verbs of view definitions: views, views check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.options import json_option, load_catalog, load_settings
from cli.output import emit, line, table
from cli.verb_group import VerbGroup

if TYPE_CHECKING:
    from core.catalog import Catalog
    from core.view import View
    from infra.definitions.definition_files import DefinitionProblem


@click.group(cls=VerbGroup, invoke_without_command=True)
@json_option
@click.pass_context
def views(ctx: click.Context) -> None:
    """List the views; `lk views check` checks the definitions."""
    if ctx.invoked_subcommand is None:
        emit(load_catalog(load_settings()), _print_views)


@views.command("check")
@json_option
def views_check() -> int:
    """Report every mistake in definition files; exit 1 if any.

    Checks the files of topics, views and routes, their SQL in Spark and, when Trino is up, presentation columns.
    """
    from flows.check_definitions import check

    problems = check(load_settings())
    emit(problems, _print_problems)
    return 1 if problems else 0


def _print_views(catalog: Catalog) -> None:
    rows = [(v.name, ", ".join(v.sources), ", ".join(_keys(v)), v.comment) for v in catalog.views.values()]
    table("", ["view", "from", "one row per", "what it is"], rows)


def _keys(view: View) -> Sequence[str]:
    from core.view import Rollup

    columns = view.key_columns if isinstance(view, Rollup) else view.unit_columns[:-1]
    return [column.name for column in columns]


def _print_problems(problems: Sequence[DefinitionProblem]) -> None:
    for problem in problems:
        line(str(problem))
    line(f"{len(problems)} mistakes" if problems else "no mistakes")


COMMANDS = [views]
