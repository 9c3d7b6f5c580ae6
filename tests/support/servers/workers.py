"""A Spark standalone cluster on loopback: one master and two workers of the PySpark package.

The servers belong to an instance: `lk status` shows them, and `lk down` stops the runs first and then the servers.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from infra.local import local_processes
from infra.runtime.java import spark_java_home
from infra.settings import LOOPBACK, Settings
from tests.support.waiting import eventually

NAMES = ("workers-1", "workers-2")
_MASTER = "workers-master"
_SPARK = Path(pyspark.__file__).parent
_SLOTS = 3  # one-core executors per worker: for a run, its replay, and the verb that compares them
# Each application takes one one-core executor per worker. Otherwise the first would take every core.
CONF = {"spark.cores.max": "2", "spark.executor.cores": "1", "spark.executor.memory": "512m"}
_DONE = re.compile(r"Executor: Finished task ")


@dataclass(frozen=True)
class Workers:
    """The cluster of an instance, with the port of its master and of the master's web pages."""

    settings: Settings
    port: int
    pages: int

    @property
    def master(self) -> str:
        """The value of the setting spark_master."""
        return f"spark://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """Starts the servers and waits until both workers have registered with the master."""
        self._start(_MASTER, "master.Master", "--port", str(self.port), "--webui-port", str(self.pages))
        for name in NAMES:
            words = ("--cores", str(_SLOTS), "--memory", f"{_SLOTS}g", "--work-dir", str(self.folder(name)))
            self._start(name, "worker.Worker", "--port", "0", "--webui-port", "0", *words, self.master)

        def both() -> None:
            assert self._state()["aliveworkers"] == len(NAMES)

        eventually(self.settings, 90, both)

    def folder(self, name: str) -> Path:
        """The folder of a worker's executors."""
        return self.settings.data / name

    def finished(self, application: str) -> dict[str, int]:
        """The number of finished tasks per worker, for the applications of this name, from the executors' logs."""
        return {name: sum(map(_finished, self._logs(name, application))) for name in NAMES}

    def _logs(self, name: str, application: str) -> list[Path]:
        state = self._state()
        ids = [app["id"] for app in [*state["activeapps"], *state["completedapps"]] if app["name"] == application]
        return [log for app_id in ids for log in sorted(self.folder(name).glob(f"{app_id}/*/stderr"))]

    def _state(self) -> Any:
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self.pages}/json/", timeout=10) as page:
                return json.load(page)
        except (urllib.error.URLError, ConnectionError) as e:
            raise AssertionError(f"the master does not answer: {e}") from None

    def _start(self, name: str, what: str, *words: str) -> None:
        argv = [str(_SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", "--host", LOOPBACK, *words]
        env = {
            "JAVA_HOME": str(spark_java_home(self.settings)),
            "SPARK_HOME": str(_SPARK),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self.folder(name)),
            "SPARK_DAEMON_MEMORY": "256m",
        }
        local_processes.start_process(self.settings, name, argv, env=env)


def _finished(log: Path) -> int:
    return len(_DONE.findall(log.read_text("utf-8", errors="replace")))
