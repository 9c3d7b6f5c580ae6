"""One instance for all switch tests. Its log and its history grow from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from infra.control import run_roles
from tests.conftest import fresh_settings
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    """Servers, some records, and a run that serves with a build. Stops the servers after the last test."""
    folder = tmp_path_factory.mktemp("switch")
    settings = fresh_settings(folder / "data").model_copy(update={"fold_epochs": 4})
    with running_world(settings, folder) as instance:
        instance.publish_first(mixed(seed=1, count=300))
        yield instance


@pytest.fixture(autouse=True)
def _retire_idle_runs(world: World) -> Iterator[None]:
    """Retires idle runs after each test, because each is a process that reads the log."""
    yield
    for run, role in run_roles.roles(world.settings).items():
        if role == "idle":
            world.here("retire", run, "--json").ok()
