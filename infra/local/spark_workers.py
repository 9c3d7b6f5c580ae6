"""A Spark standalone cluster on loopback: one master and some workers of the PySpark package.

The servers belong to an instance: `lk status` shows them, and `lk down` stops the runs first and then the servers.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import TryAgain
from infra.local import local_processes
from infra.retry import wait_until
from infra.runtime import pyspark_files
from infra.runtime.java import spark_java_home
from infra.settings import LOOPBACK, Settings

_MASTER = "workers-master"
_DEADLINE = 90.0


@dataclass(frozen=True)
class SparkWorkers:
    """The cluster of an instance: the port of its master and of the master's web pages, and ``count`` workers.

    Each worker has so many ``cores``, and a gibibyte of memory for each of them.
    """

    settings: Settings
    port: int
    pages: int
    count: int
    cores: int

    @property
    def master(self) -> str:
        """The value of the setting spark_master."""
        return f"spark://{LOOPBACK}:{self.port}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the workers' processes."""
        return tuple(f"workers-{number}" for number in range(1, self.count + 1))

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the workers that run; executors are their children."""
        processes = (local_processes.running_process(self.settings, name) for name in self.names)
        return tuple(process.pid for process in processes if process)

    def start(self) -> None:
        """Starts the servers and waits until all workers have registered with the master."""
        self._start(_MASTER, "master.Master", "--port", str(self.port), "--webui-port", str(self.pages))
        for name in self.names:
            words = ("--cores", str(self.cores), "--memory", f"{self.cores}g", "--work-dir", str(self.folder(name)))
            self._start(name, "worker.Worker", "--port", "0", "--webui-port", "0", *words, self.master)
        late = TryAgain(f"not all workers are up after {_DEADLINE:.0f} s", where=str(self.settings.log_dir))
        wait_until(lambda: self.state().get("aliveworkers") == self.count, _DEADLINE, every=0.25, error=lambda: late)

    def stop(self) -> None:
        """Stops the servers."""
        for name in (*self.names, _MASTER):
            local_processes.stop_process(self.settings, name)

    def folder(self, name: str) -> Path:
        """The folder of a worker's executors."""
        return self.settings.data / name

    def state(self) -> dict[str, Any]:
        """What the master tells of its workers and applications; nothing while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self.pages}/json/", timeout=10) as page:
                return dict(json.load(page))
        except (urllib.error.URLError, ConnectionError):
            return {}

    def _start(self, name: str, what: str, *words: str) -> None:
        spark = pyspark_files.home()
        argv = [str(spark / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", "--host", LOOPBACK, *words]
        env = {
            "JAVA_HOME": str(spark_java_home(self.settings)),
            "SPARK_HOME": str(spark),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self.folder(name)),
            "SPARK_DAEMON_MEMORY": "256m",
        }
        local_processes.start_process(self.settings, name, argv, env=env)
