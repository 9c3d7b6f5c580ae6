"""The real servers and one Spark session, shared by all tests of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from infra.lake import table_paths
from infra.local import local_stack
from infra.local.ports import free_ports
from infra.settings import Settings
from infra.spark.session import session
from tests.support.suite import deadline, tiers
from tests.support.suite.machine_speed import patient
from tests.support.suite.sharing import ByServers, longest_first, rotated

# The JVMs of tests live for minutes, which the optimizing compiler would spend on code that hardly runs; and of the
# collectors this one takes the least CPU time.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC")

# An idle query asks Kafka for new records every 10 ms by default.
IDLE = {"spark.sql.streaming.pollingDelay": "100ms"}

# The main module of a process of xdist has no file; pyspark takes that for doctests of its own, and ends the process.
vars(sys.modules["__main__"]).setdefault("__file__", __file__)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServers:
    """Used where several processes share the tests, as in `make test`."""
    return ByServers(config, log)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, in their tiers; where TEST_ROTATION is a number, another file first for another number.

    A test may take longer on a slow machine.
    """
    for item in items:
        for mark in tiers.tier(item.nodeid, is_slow=item.get_closest_marker("slow") is not None):
            item.add_marker(mark)
        limit = item.get_closest_marker("timeout")
        seconds = limit.args[0] if limit else float(item.config.getini("timeout"))
        item.add_marker(pytest.mark.timeout(patient(seconds)), append=False)
    items[:] = [items[n] for n in longest_first([item.nodeid for item in items])]
    if rotation := os.environ.get("TEST_ROTATION"):
        items[:] = [items[n] for n in rotated([item.nodeid for item in items], int(rotation))]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leaves out what .ci/run has no time for."""
    deadline.skip_if_late(item)


def fresh_settings(folder: Path) -> Settings:
    """An instance of its own: a folder and five free ports."""
    kafka, controller, trino, airflow, ui = free_ports(5)
    return Settings(
        data=folder,
        kafka_port=kafka,
        kafka_controller_port=controller,
        trino_port=trino,
        airflow_port=airflow,
        ui_port=ui,
    )


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of an instance whose servers are up, and whose lake is open, for the whole run."""
    settings = fresh_settings(tmp_path_factory.mktemp("instance"))
    local_stack.start_servers(settings)
    table_paths.open_lake(settings)  # some tests write single tables, and may come first
    yield settings
    local_stack.stop_servers(settings)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the run; it needs no servers."""
    started = session(fresh_settings(tmp_path_factory.mktemp("spark")), "tests", IDLE)
    yield started
    started.stop()
