"""`make demo-airflow`: Airflow runs the batch layer on its schedule, then a whole reprocess, on real data."""

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
from flows import speed, switch_plan
from flows import stack as servers
from flows.demo import compare_numbers
from flows.measure import demo_queries, instance, load
from flows.measure.console import note, waiting
from flows.measure.demo_queries import BY_DAY, BY_HOUR
from flows.measure.expected import REQUESTS, NumberCheck, Tally, same
from flows.measure.load import LATE, LATE_BY_MS, OUT_OF_ORDER
from flows.overview import status
from infra import airflow_api
from infra.airflow_api import AirflowApi
from infra.control import run_roles
from infra.definitions import definition_files
from infra.kafka.input_files import InputFile
from infra.kafka.producer import Acknowledged, produce
from infra.local import airflow_server, local_stack
from infra.project_files import ACCESS_LOG
from infra.settings import Settings

FOLDER = Path(".demo-airflow")
RATE, COUNT, SEED = 1_000.0, 330_000, 7
_PATIENCE = 600.0


@dataclass(frozen=True)
class TaskTime:
    """One task of a DAG run: how it ended, and after how many tries and seconds."""

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
    """All that the demo did and found; ``problems`` is empty when every number is right."""

    config: Path
    url: str
    password_file: Path
    seconds: float
    healthy: float
    sent: tuple[Acknowledged, ...]
    memory: int
    flights: tuple[DagRunTimes, ...]
    events: tuple[str, ...]
    checks: tuple[NumberCheck, ...]

    @property
    def problems(self) -> tuple[NumberCheck, ...]:
        """What is off."""
        return tuple(check for check in self.checks if not check.ok)


def demo_airflow(base: Settings, folder: Path = FOLDER) -> DemoAirflow:
    """Runs the demo in ``folder``; servers, Airflow and the runs stay up. An earlier one there is replaced.

    Raises Refused or TryAgain when a step fails; wrong numbers are in the result's ``problems``.
    """
    airflow_server.require_installed()
    began = time.monotonic()
    if instance.remove(folder):
        note("the earlier demo was stopped and removed")
    made = instance.fresh(base, folder)
    settings, catalog, tally = made.settings, definition_files.load(made.settings), Tally()
    servers.up(settings, catalog)
    starting = time.monotonic()
    servers.up(settings, catalog, "airflow")
    healthy = time.monotonic() - starting
    with waiting("starting the speed layer, sending real requests and 330,000 trades"):
        speed.start(settings, catalog)
        sent = _send(settings, catalog, tally)
        load.wait_for(lambda: demo_queries.total(settings, catalog, BY_DAY) >= COUNT, "the trades", _PATIENCE)
    note(f"{sum(one.count for one in sent):,} records can be queried")
    api = AirflowApi(settings)
    flights = (_scheduled(api), _reprocess(api))
    with waiting("reading everything back and comparing it"):
        run = run_roles.current_run(settings)
        assert run is not None
        load.caught_up(settings, run)
        events = tuple(sorted(f"{one['extra']['kind']}: {one['uri']}" for one in api.events()))
        checks = _checks(settings, catalog, tally, sent, events)
    return DemoAirflow(
        config=made.config,
        url=airflow_api.url(settings),
        password_file=airflow_api.password_file(settings),
        seconds=time.monotonic() - began,
        healthy=healthy,
        sent=sent,
        memory=next(one.memory for one in local_stack.server_states(settings) if one.name == "airflow"),
        flights=flights,
        events=events,
        checks=checks,
    )


def _send(settings: Settings, catalog: Catalog, tally: Tally) -> tuple[Acknowledged, ...]:
    source = InputFile(ACCESS_LOG, catalog.topic("access_log"))
    requests = produce(
        settings, source.topic, source.records(), progress=lambda: source.progress, draw=False
    ).require_complete()
    first = time.time_ns() // 1_000_000 - int(COUNT / RATE * 1_000)
    spec = SampleSpec(SEED, first, RATE, LATE, LATE_BY_MS, OUT_OF_ORDER)
    trades = records(catalog.topic("trades"), spec, COUNT)
    return requests, load.send_trades(settings, catalog, tally.watch(trades, spec))


def _scheduled(api: AirflowApi) -> DagRunTimes:
    """The batch layer on its schedule: the hour that has just ended is run at once."""
    api.unpause("lambda_batch")
    load.wait_for(lambda: bool(api.runs("lambda_batch")), "the schedule", _PATIENCE)
    found = _followed(api, "lambda_batch", str(api.runs("lambda_batch")[0]["dag_run_id"]))
    note(f"lambda_batch, on its schedule, has published after {found.seconds:.0f} s")
    return found


def _reprocess(api: AirflowApi) -> DagRunTimes:
    """The whole reprocess; the demo is the person who approves."""
    run = api.trigger("kappa_reprocess")

    def answer() -> None:
        if api.awaits_input("kappa_reprocess", run, "approval"):
            api.respond("kappa_reprocess", run, "approval", "Approve")

    found = _followed(api, "kappa_reprocess", run, answer)
    note("kappa_reprocess asked whether to serve what it has proven equal; approved")
    note(f"kappa_reprocess serves the replayed run after {found.seconds:.0f} s")
    return found


def _followed(api: AirflowApi, dag: str, run: str, look: Callable[[], None] = lambda: None) -> DagRunTimes:
    """Waits until a DAG run has ended. Raises Refused with the log of the task that failed."""

    def over() -> bool:
        look()
        return api.state(dag, run) in ("success", "failed")

    with waiting(f"{dag} runs; watch it at {api.page_url(dag, run)}"):
        load.wait_for(over, dag, _PATIENCE, every=1.0)
    tasks = api.tasks(dag, run)
    for name, task in tasks.items():
        if task["state"] == "failed":
            said = api.log(dag, run, name, task["try_number"]).strip()[-1_500:]
            raise Refused(f"task {name} of {dag} failed:\n{said}", where=api.page_url(dag, run), fix="read its log")
    told = api.get("dags", dag, "dagRuns", run)
    ended = sorted(tasks.values(), key=lambda task: str(task["end_date"]))
    listed = tuple(TaskTime(one["task_id"], one["state"], one["try_number"], one["duration"] or 0.0) for one in ended)
    seconds = (_moment(told["end_date"]) - _moment(told["start_date"])).total_seconds()
    return DagRunTimes(dag, run, told["run_type"], seconds, listed)


def _checks(
    settings: Settings, catalog: Catalog, tally: Tally, sent: tuple[Acknowledged, ...], events: tuple[str, ...]
) -> tuple[NumberCheck, ...]:
    views = len(catalog.views)
    return (
        *compare_numbers.traffic(settings, ACCESS_LOG),
        *compare_numbers.trades(settings, tally, sent[1]),
        same("requests of the log", REQUESTS, demo_queries.total(settings, catalog, BY_HOUR)),
        same("views that a publish told of", views, sum(one.startswith("build: ") for one in events)),
        same("views that a switch told of", views, sum(one.startswith("kappa: ") for one in events)),
        NumberCheck("what every view serves in the end", "kappa", switch_plan.mode(settings)),
        compare_numbers.health(status(settings, catalog)),
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
