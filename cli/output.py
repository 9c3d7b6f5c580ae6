"""How a result is printed: a table for people, JSON for machines."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import inspect
import json
import pathlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table

from core.cut import Cut

R = TypeVar("R")
INTERRUPTED = 130  # what a shell gives a process that Ctrl-C ended


def plain(value: object) -> Any:
    """JSON's idea of a value: dataclasses become objects, with what they derive; decimals and times become text."""
    if isinstance(value, Cut):
        return value.as_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        derived = [name for name, _ in inspect.getmembers(type(value), lambda member: isinstance(member, property))]
        names = [field.name for field in dataclasses.fields(value)] + derived
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, decimal.Decimal | pathlib.Path):
        return str(value)
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if inspect.isfunction(value):  # such as the example of a topic
        return value.__name__
    return value


def wants_json() -> bool:
    """Whether --json stands on the command line of the verb that runs."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().meta.get("json"))


def emit(result: R, human: Callable[[R], None]) -> None:
    """Prints ``result`` as JSON when asked to, else through ``human``."""
    if wants_json():
        click.echo(json.dumps(plain(result), indent=2))
    else:
        human(result)


def out() -> Console:
    """The console of results; wide when piped, so that no cell is cut."""
    return Console(width=None if sys.stdout.isatty() else 200)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """One table; numbers are set to the right."""
    drawn = Table(title=title or None, title_justify="left", header_style="bold")
    filled = [list(row) for row in rows]
    for index, column in enumerate(columns):
        numeric = bool(filled) and all(isinstance(row[index], int | float | decimal.Decimal) for row in filled)
        drawn.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in filled:
        drawn.add_row(*(cell(value) for value in row))
    out().print(drawn)


def cell(value: object) -> str:
    """A value as people read it: thousands separated, times in UTC, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | decimal.Decimal):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "")
    return str(value).replace("[", "\\[")
