"""Tables of the demo."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text


def bare(*columns: str, left: int = 1) -> Table:
    """A table without lines; the first ``left`` columns are left-aligned."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", no_wrap=True)
    return table


def with_text(*columns: str, left: int = 1) -> Table:
    """The same, with text in the last column."""
    table = bare(*columns, left=left)
    text = table.columns[-1]
    text.justify, text.no_wrap, text.style = "left", False, "dim"
    return table


def mark(ok: bool) -> Text:
    """A green or a red mark."""
    return Text("✓", style="green") if ok else Text("✗ wrong", style="bold red")
