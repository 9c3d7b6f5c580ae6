"""Progress of the demo: finished steps as lines, running steps as spinners and bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from infra.progress_bar import bar, console, drawn


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


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """Draws a spinner with the elapsed time."""
    with bar(label):
        yield


def note(text: str) -> None:
    """Prints a finished step as a line."""
    console().print(f"[green]✓[/] {text}", highlight=False)
