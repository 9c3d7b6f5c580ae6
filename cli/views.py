"""The verbs of view definitions: views, views check, views test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli import candidates
from cli.options import json_option, load_needed_or_all, load_settings, load_usable
from cli.output import emit, line, table
from cli.row_table import Side, print_differing_rows
from cli.verb_group import VerbGroup

if TYPE_CHECKING:
    from core.catalog import Catalog
    from flows.view_examples import ExampleResult
    from infra.definitions.definition_problem import DefinitionProblem


@click.group(cls=VerbGroup, invoke_without_command=True)
@json_option
@click.pass_context
def views(ctx: click.Context) -> None:
    """List the views; `lk views check` and `test` check them."""
    if ctx.invoked_subcommand is None:
        emit(load_usable(load_settings()), _print_views)


@views.command("check")
@json_option
def views_check() -> int:
    """Report every mistake in definition files; exit 1 if any.

    Checks the files of topics, views and routes, their SQL in Spark and, when Trino is up, presentation columns. Keyed
    views are computed over generated events, by key and all at once. What has not changed since it passed is not
    given to Spark again. The files are code: they run in a process without a network (on Linux) and without the
    variables whose names say that they hold a secret.
    """
    from flows.check_definitions import check

    problems = check(load_settings())
    emit(problems, _print_problems)
    return 1 if problems else 0


@views.command("test")
@click.argument("names", metavar="[VIEW]...", nargs=-1, shell_complete=candidates.views)
@json_option
def views_test(names: tuple[str, ...]) -> int:
    """Run the examples in view files; exit 1 if one fails.

    Decodes the records of each example, computes the view, and compares the rows. Needs Spark on this machine, no
    server. Presentation columns are not computed: they are SQL of Trino.
    """
    from flows.view_examples import run_examples

    settings = load_settings()
    catalog = load_needed_or_all(settings, [("view", name) for name in names])
    results = run_examples(settings, catalog, names)
    emit(results, print_examples)
    return 1 if any(result.result == "failed" for result in results) else 0


def print_examples(results: Sequence[ExampleResult]) -> None:
    """Every view with its result, then the rows of those that failed."""
    table("", ["view", "example", "rows"], [(result.view, result.result, result.rows) for result in results])
    for result in results:
        if result.error:
            line(f"{result.file}: EXAMPLE: {result.error}")
        if result.differences:
            pairs = [(Side("expected", row.expected), Side("computed", row.computed)) for row in result.differences]
            title = f"{result.view}, computed in {result.differences[0].computed_from}"
            print_differing_rows(title, result.key, pairs)


def _print_views(catalog: Catalog) -> None:
    rows = [
        (view.name, ", ".join(view.sources), ", ".join(column.name for column in view.key_columns), view.comment)
        for view in catalog.views.values()
    ]
    table("", ["view", "from", "one row per", "what it is"], rows)


def _print_problems(problems: Sequence[DefinitionProblem]) -> None:
    for problem in problems:
        line(str(problem))
    line(f"{len(problems)} mistake{'s' if len(problems) > 1 else ''}" if problems else "no mistakes")


COMMANDS = [views]
