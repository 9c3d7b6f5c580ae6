"""Starts Airflow for a world, queries its REST API, and injects faults into its tasks."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from infra.airflow_api import AirflowApi
from infra.local import airflow_server, local_stack
from infra.project_files import ROOT
from tests.support.checks.openlineage_events import require_valid
from tests.support.instances.world import World
from tests.support.waiting import eventually

OVER = ("success", "failed")
DAGS = frozenset({"lambda_batch", "kappa_reprocess", "rollback", "range_rebuild", "housekeeping", "consumer", "codes"})
_DAGS = {"dags-folder": None, "probes": str(ROOT / "tests" / "scenarios" / "airflow" / "probes")}
# Airflow fails a task soon after its heartbeats stop. They come every 5 s; a busy machine may stall.
_ENVIRONMENT = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
    "PYTHONPATH": str(ROOT / "dags"),
}
# Each line of the file VERB.faults arms one call of that verb. `kill` kills the task before the verb starts.
_SHIM = """#!/bin/sh
faults="$(dirname "$0")/$1.faults"
if [ -s "$faults" ]; then
  LK_FAULT="$(head -n 1 "$faults")"
  export LK_FAULT
  sed -i 1d "$faults"
  [ "$LK_FAULT" != kill ] || kill -KILL 0
fi
exec "$(dirname "$0")/lk.real" "$@"
"""


class AirflowOfTests(AirflowApi):
    """Airflow's API, with what tests alone ask of it."""

    def return_value(self, dag: str, run: str, task: str) -> Any:
        """The return value of a task."""
        task_path = ("dags", dag, "dagRuns", run, "taskInstances", task)
        return self.get(*task_path, "xcomEntries", "return_value", stringify="false")["value"]

    def backfill(self, dag: str, first: str, last: str, conf: Mapping[str, object]) -> int:
        """Starts a backfill of a DAG from ``first`` to ``last``, one run at a time, and returns its id."""
        span = {"from_date": first, "to_date": last}
        body = {"dag_id": dag, **span, "dag_run_conf": dict(conf), "max_active_runs": 1}
        return int(self.post(body | {"reprocess_behavior": "completed"}, "backfills")["id"])


@dataclass(frozen=True)
class Cockpit:
    """A world with its Airflow, and the start-up time of Airflow in seconds."""

    world: World
    api: AirflowOfTests
    seconds: float

    def arm(self, verb: str, *faults: str) -> None:
        """Arms one fault for each of the next calls of a verb by tasks."""
        path = airflow_server.launcher(self.world.settings).with_name(f"{verb}.faults")
        path.write_text("".join(f"{fault}\n" for fault in faults), "utf-8")

    def paused(self, point: str) -> int:
        """Waits until all processes of a task have stopped at this point. Returns their process group."""
        try:
            self.world.wait_for_proof(point)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{self.unfinished()}") from None
        group = os.getpgid(int(self.world.take_proof(point).split()[1]))

        def stopped() -> None:
            assert {process.status() for process in members(group)} == {psutil.STATUS_STOPPED}

        eventually(self.world.settings, 10, stopped)
        return group

    def kill(self, point: str) -> None:
        """Waits until a task stops at this point, then kills the task, its verb and its JVM."""
        os.killpg(self.paused(point), signal.SIGKILL)

    def first_run(self, dag: str) -> str:
        """Waits for a scheduled run of the DAG. Returns its id."""

        def there() -> str:
            runs = self.api.runs(dag)
            assert runs, f"no run of {dag}"
            return str(runs[0]["dag_run_id"])

        return eventually(self.world.settings, 60, there)

    def over(self, dag: str, run: str, seconds: float = 240.0) -> dict[str, str]:
        """Waits until a DAG run has ended. Returns the state by task, and the run's own state under ``""``."""

        def ended() -> dict[str, str]:
            state = self.api.state(dag, run)
            assert state in OVER, self.said(dag, run)
            return {"": state} | {name: task["state"] for name, task in self.api.tasks(dag, run).items()}

        return eventually(self.world.settings, seconds, ended)

    def task_is(self, dag: str, run: str, task: str, state: str, seconds: float = 120.0) -> None:
        """Waits until a task reaches this state."""

        def reached() -> None:
            assert self.api.tasks(dag, run)[task]["state"] == state, self.said(dag, run)

        eventually(self.world.settings, seconds, reached)

    def decide(self, dag: str, run: str, task: str, option: str) -> None:
        """Answers every input request of a task with this option, until the task has ended."""

        def ended() -> None:
            if self.api.awaits_input(dag, run, task):
                self.api.respond(dag, run, task, option)
            assert self.api.tasks(dag, run)[task]["state"] in OVER, self.said(dag, run)

        eventually(self.world.settings, 120, ended)

    def tries(self, dag: str, run: str) -> dict[str, int]:
        """The try number of each task."""
        return {name: task["try_number"] for name, task in self.api.tasks(dag, run).items()}

    def unfinished(self) -> str:
        """What `said` says of each run that has not ended."""
        runs = [(dag, run) for dag in DAGS for run in self.api.runs(dag) if run["state"] not in OVER]
        return "\n".join(self.said(dag, run["dag_run_id"]) for dag, run in runs)

    def said(self, dag: str, run: str) -> str:
        """The task states and the logs of unfinished or failed tasks, for the message of a failed assertion."""
        tasks = self.api.tasks(dag, run)
        states = {name: (task["state"], task["try_number"]) for name, task in tasks.items()}
        bad = [name for name, task in tasks.items() if task["state"] in ("failed", "up_for_retry", "running")]
        logs = [self.api.log(dag, run, name, tasks[name]["try_number"])[-1500:] for name in bad]
        return "\n".join([f"{dag} {run}: {states}", *logs])


def start(world: World) -> Cockpit:
    """Starts Airflow as `lk up airflow` does, with the tests' DAGs beside the project's."""
    bundle_class = "airflow.dag_processing.bundles.local.LocalDagBundle"
    bundles = [{"name": n, "classpath": bundle_class, "kwargs": {"path": p} if p else {}} for n, p in _DAGS.items()]
    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps(bundles))
        local_stack.start_servers(world.settings, airflow_server.NAME)
    seconds = time.monotonic() - started
    real = airflow_server.launcher(world.settings)
    real.rename(real.with_name("lk.real"))
    real.write_text(_SHIM, "utf-8")
    real.chmod(0o700)
    return Cockpit(world, AirflowOfTests(world.settings), seconds)


def wait_for_dags(cockpit: Cockpit) -> None:
    """Waits until Airflow has parsed all DAGs."""

    def read() -> None:
        response: Mapping[str, Any] = cockpit.api.get("dags", limit="100")
        assert {dag["dag_id"] for dag in response["dags"]} >= DAGS, cockpit.api.get("importErrors")

    eventually(cockpit.world.settings, 60, read)


def members(group: int) -> list[psutil.Process]:
    """The processes of a group, without zombies."""
    return [process for process in psutil.process_iter() if _in(group, process)]


def _in(group: int, process: psutil.Process) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def lineage_of(world: World, dag: str) -> dict[str, list[tuple[str, str]]]:
    """Task -> job and state of each valid lineage event whose parent is a try of the task, in the order of sending."""
    events = [json.loads(line) for line in Path(str(world.settings.lineage_url)).read_text("utf-8").splitlines()]
    of_tasks: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for event in events:
        require_valid(event)
        parent = event["run"].get("facets", {}).get("parent", {}).get("job", {})
        if parent.get("name", "").startswith(f"{dag}."):
            assert parent["namespace"] == "airflow"
            of_tasks[parent["name"].removeprefix(f"{dag}.")].append((event["job"]["name"], event["eventType"]))
    return dict(of_tasks)
