"""The tables that `lk demo --airflow` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from flows.demo.airflow import DagRunTimes, DemoAirflow
from flows.demo.report import command, short, verdict_text
from flows.measure.tables import bare, mark
from infra.airflow_api import USER


def show(demo: DemoAirflow) -> None:
    """Prints all results; 120 columns wide without a terminal."""
    out = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for title, part in _parts(demo):
        out.print()
        out.print(Rule(f"[bold]{title}", align="left", style="dim"))
        out.print(part)
    out.print()
    verdict = verdict_text(len(demo.problems), len(demo.checks))
    out.print(Panel(f"{verdict} · the demo took {demo.seconds:.0f} s", expand=False))
    out.print(_next(demo), soft_wrap=True)


def _parts(demo: DemoAirflow) -> Iterable[tuple[str, RenderableType]]:
    for dag_run in demo.flights:
        yield f"{dag_run.dag}, {dag_run.kind}: {dag_run.seconds:.0f} s", _tasks(dag_run)
    yield "Asset events, which can start your own DAGs", Text("\n".join(demo.events))
    yield "Every number, counted in plain Python and by Trino", _checks(demo)


def _tasks(dag_run: DagRunTimes) -> RenderableType:
    table = bare("task", "state", "tries", "seconds", left=2)
    for task in dag_run.tasks:
        table.add_row(task.name, task.state, str(task.tries), f"{task.seconds:.1f}")
    return table


def _checks(demo: DemoAirflow) -> RenderableType:
    table = bare("", "number", "expected", "actual", left=2)
    for check in demo.checks:
        table.add_row(mark(check.ok), check.what, check.expected, check.found)
    return table


def _next(demo: DemoAirflow) -> Text:
    lk = f"{command()} -c {short(demo.config)}"
    return Text(
        f"Airflow is up at {demo.url} (healthy after {demo.healthy:.0f} s, {demo.memory / 2**20:,.0f} MiB): "
        f"user {USER}, password in "
        f"{short(demo.password_file)}.\n"
        "lambda_batch runs every hour; it skips its work while Kappa serves. Next steps:\n"
        f"\n  # go back to Lambda\n  start the DAG rollback in Airflow, or: {lk} rollback\n"
        f"\n  # what was published, by which DAG run\n  {lk} publications\n"
        f"\n  # stop everything\n  {lk} down\n"
    )
