"""The verbs of readers: query, show, get, publications."""

from __future__ import annotations

import csv
import sys
from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, plain, table, wants_json
from core.identifiers import Name

if TYPE_CHECKING:
    from infra.control.publications import Publication as Publication
    from infra.trino.metastore import QueryResult


@click.command()
@click.argument("sql")
@json_option
def query(sql: str) -> None:
    """Runs SQL in Trino, in catalog lake, schema serving."""
    from serving.query import query as ask

    _emit_rows(ask(settings(), sql))


@click.command()
@click.argument("view")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--publish", type=int, help="As it was at this publication: complete up to its cut.")
@click.option("--limit", type=int, help="At most so many rows.")
@json_option
def show(view: str, as_csv: bool, publish: int | None, limit: int | None) -> None:
    """Prints VIEW, ordered by its keys."""
    from serving.show import show as read

    found = settings()
    result = read(found, catalog(found), Name(view), publish=publish, limit=limit)
    if as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(result.columns)
        writer.writerows(plain(result.rows))
    else:
        _emit_rows(result, view)


@click.command()
@click.argument("view")
@click.argument("key", nargs=-1)
@click.option("--limit", type=int, help="At most so many rows.")
@json_option
def get(view: str, key: tuple[str, ...], limit: int | None) -> None:
    """Prints the rows of one KEY of VIEW, the newest window first."""
    from serving.get import get as read

    found = settings()
    _emit_rows(read(found, catalog(found), Name(view), key, limit=limit), view)


@click.command()
@json_option
def publications() -> None:
    """Lists what was made the served answer: when, by whom, why."""
    from infra.control.publications import read_publications as listed

    emit(listed(settings()), _print_publications)


def _emit_rows(result: QueryResult, title: str = "") -> None:
    if wants_json():
        emit([dict(zip(result.columns, row, strict=True)) for row in result.rows], lambda _: None)
    else:
        table(title, result.columns, result.rows)


def _print_publications(rows: list[Publication]) -> None:
    shown = [(p.seq, p.kind, p.state, p.at, p.who, p.why, ", ".join(sorted(p.pins))) for p in rows]
    table("", ["publication", "kind", "state", "at", "who", "why", "views"], shown)


COMMANDS = [query, show, get, publications]
