"""What the Airflow demo found, as a person enjoys reading it."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from flows.demo.airflow import DagRunTimes, DemoAirflow
from flows.demo.report import command, short
from flows.measure.tables import bare, mark
from infra.airflow_api import USER


def show(demo: DemoAirflow) -> None:
    """Prints everything; wide enough when nobody's terminal is there."""
    out = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for title, part in _parts(demo):
        out.print()
        out.print(Rule(f"[bold]{title}", align="left", style="dim"))
        out.print(part)
    out.print()
    wrong = len(demo.problems)
    found = f"[bold red]{wrong} of {len(demo.checks)} numbers are off" if wrong else "[bold green]Every number is exact"
    out.print(Panel(f"{found}[/] · the whole demo took {demo.seconds:.0f} s", expand=False))
    out.print(_next(demo), soft_wrap=True)


def _parts(demo: DemoAirflow) -> Iterable[tuple[str, RenderableType]]:
    for flight in demo.flights:
        yield f"{flight.dag}, {flight.kind}: {flight.seconds:.0f} s", _tasks(flight)
    yield "Asset events: what starts a DAG of yours", Text("\n".join(demo.events))
    yield "Compared with a count in plain Python", _checks(demo)


def _tasks(flight: DagRunTimes) -> RenderableType:
    table = bare("task", "ended", "tries", "seconds", left=2)
    for task in flight.tasks:
        table.add_row(task.name, task.state, str(task.tries), f"{task.seconds:.1f}")
    return table


def _checks(demo: DemoAirflow) -> RenderableType:
    table = bare("", "number", "expected", "found", left=2)
    for check in demo.checks:
        table.add_row(mark(check.ok), check.what, check.expected, check.found)
    return table


def _next(demo: DemoAirflow) -> Text:
    lk = f"{command()} -c {short(demo.config)}"
    return Text(
        f"Airflow is up at {demo.url} (healthy after {demo.healthy:.0f} s, {demo.memory / 2**20:,.0f} MiB): "
        f"user {USER}, password in "
        f"{short(demo.password_file)}.\n"
        "lambda_batch stays on, every hour; while Kappa serves it skips. What to try next:\n"
        f"\n  # go back to Lambda\n  start the DAG rollback in Airflow, or: {lk} rollback\n"
        f"\n  # what was made served, by which DAG run\n  {lk} publications\n"
        f"\n  # stop everything\n  {lk} down\n"
    )
