"""Two Spark workers for the cluster tests, and how many tasks each of them has finished."""

from __future__ import annotations

import re
from pathlib import Path

from infra.local.spark_workers import SparkWorkers

COUNT = 2
SLOTS = 3  # one-core executors per worker: for a run, its replay, and the verb that compares them
# Each application takes one one-core executor per worker. Otherwise the first would take every core.
CONF = {"spark.cores.max": "2", "spark.executor.cores": "1", "spark.executor.memory": "512m"}
_DONE = re.compile(r"Executor: Finished task ")


def finished_tasks(workers: SparkWorkers, application: str) -> dict[str, int]:
    """The number of finished tasks per worker, for the applications of this name, from the executors' logs."""
    return {name: sum(map(_finished, _logs(workers, name, application))) for name in workers.names}


def _logs(workers: SparkWorkers, name: str, application: str) -> list[Path]:
    state = workers.state()
    assert state, "the master does not answer"
    ids = [app["id"] for app in [*state["activeapps"], *state["completedapps"]] if app["name"] == application]
    return [log for app_id in ids for log in sorted(workers.folder(name).glob(f"{app_id}/*/stderr"))]


def _finished(log: Path) -> int:
    return len(_DONE.findall(log.read_text("utf-8", errors="replace")))
