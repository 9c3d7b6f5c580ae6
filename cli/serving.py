"""The verbs of readers: query, show, get, publications."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli import candidates
from cli.options import json_option, load_settings, load_usable
from cli.output import emit, plain, table, wants_json
from core.identifiers import Name
from core.safe_text import one_line, spreadsheet_cell

if TYPE_CHECKING:
    from infra.control.publications import Publication
    from infra.trino.metastore import QueryResult

_VIEW = click.argument("view", shell_complete=candidates.views)
_LIMIT = click.option("--limit", type=int, help="Maximum number of rows.")


@click.command()
@click.argument("sql")
@json_option
def query(sql: str) -> None:
    """Run SQL in Trino, in catalog lake, schema serving."""
    from serving import read

    emit_rows(read.query(load_settings(), sql))


@click.command()
@_VIEW
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV; text that a spreadsheet would compute begins with '.")
@click.option("--publication", "--publish", "publish", type=int, help="As of this publication, complete up to its cut.")
@_LIMIT
@json_option
def show(view: str, as_csv: bool, publish: int | None, limit: int | None) -> None:
    """Print a view, ordered by its key columns."""
    from serving import read

    settings = load_settings()
    catalog = load_usable(settings, ("view", view))
    result = read.show(settings, catalog, Name(view), publish=publish, limit=limit)
    _warn(read.hidden_data_notice(settings, catalog, Name(view), publish=publish))
    if as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(result.columns)
        writer.writerows([_csv_cell(value) for value in row] for row in result.rows)
    else:
        emit_rows(result, view)


@click.command()
@_VIEW
@click.argument("key", nargs=-1)
@_LIMIT
@json_option
def get(view: str, key: tuple[str, ...], limit: int | None) -> None:
    """Print the rows of one key of a view, latest window first."""
    from serving import read

    settings = load_settings()
    catalog = load_usable(settings, ("view", view))
    result = read.get(settings, catalog, Name(view), key, limit=limit)
    _warn(read.hidden_data_notice(settings, catalog, Name(view)))
    emit_rows(result, view)


@click.command()
@json_option
def publications() -> None:
    """List publications: what became live, when, by whom."""
    from infra.control.publications import read_publications

    emit(read_publications(load_settings()), _print_publications)


def _warn(text: str) -> None:
    if text:
        click.echo(f"lk: {text}", err=True)


def _csv_cell(value: object) -> Any:
    """A cell of CSV; of text, what would control a terminal is escaped: a pipe may end in one."""
    return one_line(spreadsheet_cell(plain(value))) if isinstance(value, str | bytes) else plain(value)


def emit_rows(result: QueryResult, title: str = "") -> None:
    """Prints rows of SQL, as JSON with --json. Numbers are plain: a column may hold offsets, years or ids."""
    if wants_json():
        emit([dict(zip(result.columns, row, strict=True)) for row in result.rows], lambda _: None)
    else:
        table(title, result.columns, result.rows, ids=result.columns)


def _print_publications(publications: Sequence[Publication]) -> None:
    rows = [(p.seq, p.kind, p.state, p.at, p.who, p.why, ", ".join(sorted(p.pins))) for p in publications]
    table("", ["publication", "kind", "state", "at", "who", "why", "views"], rows, ids=["publication"])


COMMANDS = [query, show, get, publications]
