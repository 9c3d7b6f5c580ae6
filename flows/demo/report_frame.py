"""What the reports of both demos share: titled parts, the table of the checks, the verdict, names to copy."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from flows.demo.connection import Connection
from flows.measure.console import mark, plain_table
from flows.measure.expected import NumberCheck, wrong_numbers


def print_report(
    parts: Iterable[tuple[str, RenderableType]], checks: Sequence[NumberCheck], seconds: float, next_steps: Text
) -> None:
    """Prints the parts below their titles, the verdict and the next steps; 120 columns wide without a terminal."""
    out = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for title, part in parts:
        out.print()
        out.print(Rule(f"[bold]{title}", align="left", style="dim"))
        out.print(part)
    out.print()
    out.print(Panel(f"{_verdict(checks)} · the demo took {seconds:.0f} s", expand=False))
    out.print(next_steps, soft_wrap=True)


def checks_part(checks: Sequence[NumberCheck], expected: str, actual: str) -> tuple[str, RenderableType]:
    """The part with a row for each check; ``expected`` and ``actual`` are the titles of its two texts."""
    table = plain_table("", "number", expected, actual, left=2)
    for check in checks:
        table.add_row(mark(check.ok), check.what, check.expected, check.actual)
    return "Every number, counted in plain Python and by Trino", table


def command() -> str:
    """The command for `lk`: its name if it is on the PATH, else its path."""
    return "lk" if shutil.which("lk") else short(Path(sys.executable).parent / "lk")


def short(path: Path) -> str:
    """A path, relative to the working directory if it is below that."""
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def other_ports(connection: Connection) -> str:
    """A line about the usual ports that are in use; empty if the demo has all of them."""
    return f"\nNot the usual ports: {connection.other_ports}.\n" if connection.other_ports else ""


def _verdict(checks: Sequence[NumberCheck]) -> str:
    """The result of all checks, with rich's markup."""
    wrong = len(wrong_numbers(checks))
    if wrong:
        return f"[bold red]{wrong} of {len(checks)} numbers are wrong[/]"
    return "[bold green]Every number is exact[/]"
