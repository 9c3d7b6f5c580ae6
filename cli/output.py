"""How a result is printed: a table for people, JSON for programs."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import inspect
import json
import pathlib
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from core.cut import Cut
from core.safe_text import one_line, several_lines
from core.unix_time import utc_millis_text

R = TypeVar("R")
INTERRUPTED = 130  # the exit code of a process that Ctrl-C ended


def plain(value: object) -> Any:
    """A value as JSON: dataclasses become objects with their properties; decimals and times become text."""
    if isinstance(value, Cut):
        return value.as_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        properties = [name for name, _ in inspect.getmembers(type(value), lambda member: isinstance(member, property))]
        names = [field.name for field in dataclasses.fields(value)] + properties
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
    """Whether the command line has --json."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().meta.get("json"))


def emit(result: R, human: Callable[[R], None]) -> None:
    """Prints ``result`` as JSON with --json, else through ``human``."""
    if wants_json():
        click.echo(json.dumps(plain(result), indent=2))
    else:
        human(result)


def out() -> Console:
    """The console of results; wide when piped, so that no cell is cut."""
    return Console(width=None if sys.stdout.isatty() else 200, emoji=False)


def line(text: str) -> None:
    """Prints one line without wrapping or markup. Control characters are escaped."""
    out().print(several_lines(text), markup=False, highlight=False, soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, ids: Collection[str] = ()) -> None:
    """Prints a table, numbers aligned right. Numbers in the columns ``ids`` get no thousands separators.

    Cells, columns and title are text without markup, and control characters in them are escaped.
    """
    cells = [list(row) for row in rows]
    drawn = Table(title=_text(title) if title else None, title_justify="left", header_style="bold")
    for index, column in enumerate(columns):
        numeric = bool(cells) and all(isinstance(row[index], int | float | decimal.Decimal) for row in cells)
        drawn.add_column(_text(column), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        drawn.add_row(*(_text(_cell(value, column in ids)) for value, column in zip(row, columns, strict=True)))
    out().print(drawn)


def _cell(value: object, is_id: bool) -> str:
    """A value as people read it: thousands separated, times in UTC, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | decimal.Decimal):
        return str(value) if is_id else f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}" if is_id else f"{value:,.3f}"
    if isinstance(value, datetime.datetime):
        return utc_millis_text(value)
    return str(value)


def _text(text: str) -> Text:
    return Text(one_line(text))
