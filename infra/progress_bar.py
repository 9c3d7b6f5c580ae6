"""Progress bars on stderr; silent when stderr is not a terminal, and in quiet mode."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

_HALF_LINE_BYTES = 100_000_000  # from this size on, half of a download is a line where no bar is drawn
_quiet = False


def silence() -> None:
    """Turns on quiet mode for this process, as for --json."""
    global _quiet
    _quiet = True


def console() -> Console:
    """The console on stderr, for bars and notes."""
    return Console(stderr=True, quiet=_quiet)


def drawn() -> bool:
    """True if bars are drawn: stderr is a terminal, and the mode is not quiet."""
    return sys.stderr.isatty() and not _quiet


def _columns(total: float | None, unit: str) -> list[ProgressColumn]:
    amount: list[ProgressColumn] = [DownloadColumn()] if unit == "bytes" else [MofNCompleteColumn()]
    start: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.description}")]
    middle: list[ProgressColumn] = [BarColumn(), *amount] if total is not None else []
    return [*start, *middle, TimeElapsedColumn()]


@contextlib.contextmanager
def bar(label: str, total: float | None = None, unit: str = "") -> Iterator[Callable[[float], None]]:
    """Draws a bar (a spinner when ``total`` is None) and yields a function that sets the completed amount.

    ``unit`` "bytes" prints sizes with units. Without a terminal, a large download prints a line when half is there.
    """
    with Progress(*_columns(total, unit), console=console(), transient=True, disable=not drawn()) as progress:
        task = progress.add_task(label, total=total)
        half = total / 2 if total and unit == "bytes" and total >= _HALF_LINE_BYTES and not drawn() else None

        def update(completed: float) -> None:
            nonlocal half
            progress.update(task, completed=completed)
            if half is not None and completed >= half:
                half = None
                console().print(f"{label}: {completed / 1e6:.0f} of {(total or 0) / 1e6:.0f} MB", highlight=False)

        yield update
