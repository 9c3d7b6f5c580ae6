"""What the demo prints: finished steps as lines, running steps as spinners and bars, results as tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from infra.progress_bar import console, drawn


@dataclass(frozen=True)
class ProgressLines:
    """Three bars: what was sent, what queries count, what the batch layer does."""

    progress: Progress

    def expect(self, count: int) -> None:
        """Sets the number of events that will be sent."""
        for bar_number in (0, 1):
            self.progress.update(self.progress.task_ids[bar_number], total=count)

    def update(self, sent: int, visible: int, batch: str) -> None:
        """Sets the state of each bar."""
        bars = self.progress.task_ids
        self.progress.update(bars[0], completed=sent)
        self.progress.update(bars[1], completed=visible)
        self.progress.update(bars[2], description=f"lk batch: {batch}")


@contextmanager
def progress_lines() -> Iterator[ProgressLines]:
    """Draws the bars until the block ends."""
    columns = (SpinnerColumn(), TextColumn("{task.description:<42}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console(), transient=True, disable=not drawn()) as progress:
        progress.add_task("trades sent to Kafka", total=None)
        progress.add_task("trades that a Trino query counts", total=None)
        progress.add_task("lk batch", total=None)
        yield ProgressLines(progress)


def note(text: str) -> None:
    """Prints a finished step as a line."""
    console().print(f"[green]✓[/] {text}", highlight=False)


def plain_table(*columns: str, left: int = 1) -> Table:
    """A table without lines; the first ``left`` columns are left-aligned."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", no_wrap=True)
    return table


def with_text(*columns: str, left: int = 1) -> Table:
    """A table without lines, with text in the last column."""
    table = plain_table(*columns, left=left)
    text = table.columns[-1]
    text.justify, text.no_wrap, text.style = "left", False, "dim"
    return table


def mark(ok: bool) -> Text:
    """A green or a red mark."""
    return Text("✓", style="green") if ok else Text("✗ wrong", style="bold red")
