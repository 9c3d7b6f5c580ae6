"""How the demo's tables look."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text


def bare(*columns: str, left: int = 1) -> Table:
    """A table without lines; the first columns are set to the left."""
    drawn = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for number, column in enumerate(columns):
        drawn.add_column(column, justify="left" if number < left else "right", no_wrap=True)
    return drawn


def told(*columns: str, left: int = 1) -> Table:
    """The same, with words in the last column."""
    drawn = bare(*columns, left=left)
    last = drawn.columns[-1]
    last.justify, last.no_wrap, last.style = "left", False, "dim"
    return drawn


def mark(ok: bool) -> Text:
    """Right or off."""
    return Text("✓", style="green") if ok else Text("✗ off", style="bold red")
