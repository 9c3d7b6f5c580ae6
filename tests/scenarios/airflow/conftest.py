"""One instance and one Airflow for all Airflow tests. The log and the history grow from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import fresh_settings
from tests.support.instances import airflow_runs
from tests.support.instances.airflow_runs import Cockpit
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed


@pytest.fixture(scope="package")
def cockpit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    """Servers, Airflow, a started run and some committed records. Stops the servers after the last test."""
    folder = tmp_path_factory.mktemp("airflow")
    settings = fresh_settings(folder / "data").model_copy(update={"lineage_url": str(folder / "lineage.jsonl")})
    with running_world(settings, folder) as world:
        airflow = airflow_runs.start(world)
        world.start_speed()
        world.send(mixed(seed=1, count=200))
        airflow_runs.wait_for_dags(airflow)
        world.settle()
        yield airflow


@pytest.fixture
def world(cockpit: Cockpit) -> World:
    """The instance that Airflow works on."""
    return cockpit.world
