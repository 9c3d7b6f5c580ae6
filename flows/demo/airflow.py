"""`lk demo --airflow`: Airflow runs the batch layer on its schedule, then a whole reprocess, on real data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from core.catalog import Catalog
from core.errors import Refused
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from flows import speed, stack, switch_plan
from flows.demo import compare_numbers, connection
from flows.demo.connection import Connection
from flows.measure import demo_queries, fresh_instance, load
from flows.measure.console import note
from flows.measure.demo_queries import BY_DAY, BY_HOUR
from flows.measure.expected import REQUESTS, NumberCheck, Tally, same, wrong_numbers
from flows.measure.load import LATE, LATE_BY_MS, OUT_OF_ORDER
from flows.overview import status
from infra import airflow_api, clock
from infra.airflow_api import AirflowApi
from infra.control import run_roles
from infra.definitions import definition_files
from infra.kafka.producer import Acknowledged
from infra.local import airflow_server, local_stack, ui_server
from infra.progress_bar import bar
from infra.project_files import ACCESS_LOG
from infra.settings import Settings

FOLDER = Path(".demo-airflow")
RATE, COUNT, SEED = 1_000.0, 330_000, 7
_PATIENCE = 600.0


@dataclass(frozen=True)
class TaskTime:
    """One task of a DAG run: its final state, its tries and its seconds."""

    name: str
    state: str
    tries: int
    seconds: float


@dataclass(frozen=True)
class DagRunTimes:
    """One DAG run from its start to its end, its tasks in the order in which they ended."""

    dag: str
    run: str
    kind: str
    seconds: float
    tasks: tuple[TaskTime, ...]


@dataclass(frozen=True)
class DemoAirflow:
    """What the demo did and measured. ``problems`` is empty if every number is right."""

    config: Path
    connection: Connection
    url: str
    password_file: Path
    seconds: float
    healthy: float
    sent: tuple[Acknowledged, ...]
    memory: int
    dag_runs: tuple[DagRunTimes, ...]
    events: tuple[str, ...]
    checks: tuple[NumberCheck, ...]

    @property
    def problems(self) -> tuple[NumberCheck, ...]:
        """The numbers that differ."""
        return wrong_numbers(self.checks)


def demo_airflow(base: Settings, folder: Path = FOLDER) -> DemoAirflow:
    """Runs the demo in ``folder`` and leaves its servers, Airflow and runs up. It replaces an earlier demo there.

    Raises Refused or TryAgain if a step fails; wrong numbers are in the result's ``problems``.
    """
    airflow_server.require_installed()
    began = time.monotonic()
    if fresh_instance.remove(folder):
        note("stopped and removed the earlier demo")
    created = fresh_instance.create(base, folder, connection.PORTS)
    settings, catalog, tally = created.settings, definition_files.load(created.settings), Tally()
    stack.up(settings, catalog, ui_server.NAME)
    starting = time.monotonic()
    stack.up(settings, catalog, "airflow")
    healthy = time.monotonic() - starting
    with bar("starting the speed layer, sending real requests and 330,000 trades"):
        speed.start(settings, catalog)
        sent = _send(settings, catalog, tally)
        load.wait_for(lambda: demo_queries.total(settings, catalog, BY_DAY) >= COUNT, "the trades", _PATIENCE)
    note(f"queries count {sum(topic.count for topic in sent):,} records")
    api = AirflowApi(settings)
    dag_runs = (_scheduled(api), _reprocess(api))
    with bar(compare_numbers.COMPARING):
        run = run_roles.current_run(settings)
        assert run is not None
        load.wait_for_lag_zero(settings, run)
        events = tuple(sorted(f"{event['extra']['kind']}: {event['uri']}" for event in api.events()))
        checks = _checks(settings, catalog, tally, sent, events)
    return DemoAirflow(
        config=created.config,
        connection=connection.connection(settings),
        url=airflow_api.url(settings),
        password_file=airflow_api.password_file(settings),
        seconds=time.monotonic() - began,
        healthy=healthy,
        sent=sent,
        memory=next(server.memory for server in local_stack.server_states(settings) if server.name == "airflow"),
        dag_runs=dag_runs,
        events=events,
        checks=checks,
    )


def _send(settings: Settings, catalog: Catalog, tally: Tally) -> tuple[Acknowledged, ...]:
    requests = load.send_access_log(settings, catalog)
    first = clock.now_ms() - int(COUNT / RATE * 1_000)
    spec = SampleSpec(SEED, first, RATE, LATE, LATE_BY_MS, OUT_OF_ORDER)
    trades = records(catalog.topic("trades"), spec, COUNT)
    return requests, load.send_trades(settings, catalog, tally.watch(trades, spec))


def _scheduled(api: AirflowApi) -> DagRunTimes:
    """Turns on the schedule of the batch layer: Airflow runs the last full hour at once."""
    api.unpause("lambda_batch")
    load.wait_for(lambda: bool(api.runs("lambda_batch")), "the schedule", _PATIENCE)
    dag_run = _wait_for_dag_run(api, "lambda_batch", str(api.runs("lambda_batch")[0]["dag_run_id"]))
    note(f"lambda_batch published after {dag_run.seconds:.0f} s, on its schedule")
    return dag_run


def _reprocess(api: AirflowApi) -> DagRunTimes:
    """Triggers the reprocess, and approves it."""
    run = api.trigger("kappa_reprocess")

    def answer() -> None:
        if api.awaits_input("kappa_reprocess", run, "approval"):
            api.respond("kappa_reprocess", run, "approval", "Approve")

    dag_run = _wait_for_dag_run(api, "kappa_reprocess", run, answer)
    note("kappa_reprocess asked whether to serve what it has proven equal; approved")
    note(f"kappa_reprocess serves the replayed run after {dag_run.seconds:.0f} s")
    return dag_run


def _wait_for_dag_run(api: AirflowApi, dag: str, run: str, poll: Callable[[], None] = lambda: None) -> DagRunTimes:
    """Waits until a DAG run has ended. Raises Refused with the log of a failed task."""

    def has_ended() -> bool:
        poll()
        return api.state(dag, run) in ("success", "failed")

    with bar(f"{dag} runs; watch it at {api.page_url(dag, run)}"):
        load.wait_for(has_ended, dag, _PATIENCE, every=1.0)
    tasks = api.tasks(dag, run)
    for name, task in tasks.items():
        if task["state"] == "failed":
            log = api.log(dag, run, name, task["try_number"]).strip()[-1_500:]
            raise Refused(f"task {name} of {dag} failed:\n{log}", where=api.page_url(dag, run), fix="read its log")
    dag_run = api.get("dags", dag, "dagRuns", run)
    by_end = sorted(tasks.values(), key=lambda task: str(task["end_date"]))
    times = tuple(TaskTime(t["task_id"], t["state"], t["try_number"], t["duration"] or 0.0) for t in by_end)
    seconds = (
        datetime.fromisoformat(dag_run["end_date"]) - datetime.fromisoformat(dag_run["start_date"])
    ).total_seconds()
    return DagRunTimes(dag, run, dag_run["run_type"], seconds, times)


def _checks(
    settings: Settings, catalog: Catalog, tally: Tally, sent: tuple[Acknowledged, ...], events: tuple[str, ...]
) -> tuple[NumberCheck, ...]:
    views = len(catalog.views)
    return (
        *compare_numbers.traffic(settings, ACCESS_LOG),
        *compare_numbers.trades(settings, tally, sent[1]),
        same("requests in Kafka", REQUESTS, demo_queries.total(settings, catalog, BY_HOUR)),
        same("asset events of the publish", views, sum(event.startswith("build: ") for event in events)),
        same("asset events of the switch", views, sum(event.startswith("kappa: ") for event in events)),
        NumberCheck("mode of every view at the end", "kappa", switch_plan.mode(settings)),
        compare_numbers.health(status(settings)),
    )
