"""What a person watches while the demo runs: finished steps as lines, running ones as spinners and bars."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from infra.progress_bar import bar, console


@dataclass(frozen=True)
class ProgressLines:
    """Three lanes side by side: what was sent, what can be queried, what the batch layer does."""

    progress: Progress

    def expect(self, count: int) -> None:
        """How many events there will be."""
        for lane in (0, 1):
            self.progress.update(self.progress.task_ids[lane], total=count)

    def update(self, sent: int, visible: int, batch: str) -> None:
        """How far each lane is."""
        lanes = self.progress.task_ids
        self.progress.update(lanes[0], completed=sent)
        self.progress.update(lanes[1], completed=visible)
        self.progress.update(lanes[2], description=f"lk batch: {batch}")


@contextmanager
def progress_lines() -> Iterator[ProgressLines]:
    """Draws the lanes until the block ends."""
    columns = (SpinnerColumn(), TextColumn("{task.description:<42}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console(), transient=True) as progress:
        progress.add_task("trades sent to Kafka", total=None)
        progress.add_task("trades that a Trino query sees", total=None)
        progress.add_task("lk batch", total=None)
        yield ProgressLines(progress)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner with a clock."""
    with bar(what):
        yield


def note(text: str) -> None:
    """A step that is done."""
    console().print(f"[green]✓[/] {text}", highlight=False)
