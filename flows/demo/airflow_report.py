"""The tables that `lk demo --airflow` prints."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from core.evidence.quantity import mebibytes
from flows.demo.airflow import DagRunTimes, DemoAirflow
from flows.demo.report_frame import checks_part, command, other_ports, print_report, short
from flows.measure.console import plain_table
from infra.airflow_api import USER


def show(demo: DemoAirflow) -> None:
    """Prints all results; 120 columns wide without a terminal."""
    print_report(_parts(demo), demo.checks, demo.seconds, _next(demo))


def _parts(demo: DemoAirflow) -> Iterable[tuple[str, RenderableType]]:
    for dag_run in demo.dag_runs:
        yield f"{dag_run.dag}, {dag_run.kind}: {dag_run.seconds:.0f} s", _tasks(dag_run)
    yield "Asset events, which can start your own DAGs", Text("\n".join(demo.events))
    yield checks_part(demo.checks, "expected", "actual")


def _tasks(dag_run: DagRunTimes) -> RenderableType:
    table = plain_table("task", "state", "tries", "seconds", left=2)
    for task in dag_run.tasks:
        table.add_row(task.name, task.state, str(task.tries), f"{task.seconds:.1f}")
    return table


def _next(demo: DemoAirflow) -> Text:
    lk = f"{command()} -c {short(demo.config)}"
    return Text(
        f"Airflow is up at {demo.url} (healthy after {demo.healthy:.0f} s, {mebibytes(demo.memory)}): "
        f"user {USER}, password in "
        f"{short(demo.password_file)}.\n"
        "lambda_batch runs every hour; it skips its work while Kappa serves. Next steps:\n"
        f"\n  # go back to Lambda\n  start the DAG rollback in Airflow, or: {lk} rollback\n"
        f"\n  # what was published, by which DAG run\n  {lk} publications\n"
        f"\n  # stop everything\n  {lk} down\n" + other_ports(demo.connection)
    )
