"""Measures each test: wall time, and CPU seconds of all processes that it started, including servers.

`pytest -p tests.support.suite.cost --cost FILE` appends one JSON line per test to FILE.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_MARK = b"PYTEST_COST_WORKER="
_TICK = os.sysconf("SC_CLK_TCK")
_SECONDS = 0.25  # sampling interval; the CPU time of a process that lives shorter may be missed


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option --cost."""
    parser.addoption("--cost", metavar="FILE", help="append the cost of each test to FILE, as JSON lines")


def pytest_configure(config: pytest.Config) -> None:
    """Starts the measurement in each process that runs tests."""
    file = config.getoption("--cost")
    if file and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(CostRecorder(Path(file).absolute()), "cost of tests")


class CostRecorder:
    """Samples the CPU time of every process of this worker, and writes the increase during each test."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.worker = f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}-{os.getpid()}"
        os.environ["PYTEST_COST_WORKER"] = self.worker
        self.seen: dict[tuple[int, int], float] = {}  # (pid, start tick) -> last sampled CPU seconds
        self.others: set[int] = set()  # the pids of processes that are not ours
        self.own = 0.0  # CPU seconds of the sampling itself
        threading.Thread(target=self._sample_for_ever, daemon=True).start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measures set-up, call and tear-down together. The first test that uses a shared fixture pays for it."""
        begin, cpu = time.monotonic(), self._cpu()
        try:
            return (yield)
        finally:
            line = {
                "test": item.nodeid,
                "wall": round(time.monotonic() - begin, 2),
                "cpu": round(self._cpu() - cpu, 2),
                "worker": self.worker,
                "end": round(time.time(), 1),
            }
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")

    def _cpu(self) -> float:
        self._sample()
        return sum(self.seen.values()) - self.own

    def _sample_for_ever(self) -> None:
        while True:
            time.sleep(_SECONDS)
            self._sample()
            self.own = time.thread_time()

    def _sample(self) -> None:
        pids = {int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()}
        self.others &= pids
        for pid in pids - self.others:
            try:
                stat = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()
                key = (pid, int(stat[19]))
                if self._is_ours(key):
                    self.seen[key] = (int(stat[11]) + int(stat[12])) / _TICK
                else:
                    self.others.add(pid)
            except (OSError, IndexError):
                continue

    def _is_ours(self, key: tuple[int, int]) -> bool:
        """This process, or one that inherited the worker's mark."""
        if key in self.seen or key[0] == os.getpid():
            return True
        return _MARK + self.worker.encode() in Path(f"/proc/{key[0]}/environ").read_bytes().split(b"\0")
