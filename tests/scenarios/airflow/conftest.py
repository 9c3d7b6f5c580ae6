"""The one instance of the Airflow tests, with its Airflow; its log and its history grow from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.local import local_stack
from tests.conftest import fresh_settings
from tests.support import airflow_runs as cockpits
from tests.support import world as worlds
from tests.support.airflow_runs import Cockpit
from tests.support.load import mixed
from tests.support.world import World

DAGS = frozenset({"lambda_batch", "kappa_reprocess", "rollback", "range_rebuild", "housekeeping", "consumer", "codes"})


@pytest.fixture(scope="package")
def cockpit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    """Servers and Airflow up, a run that was started once, some records committed; stopped after the last test."""
    folder = tmp_path_factory.mktemp("airflow")
    world = worlds.make(fresh_settings(folder / "data"), folder)
    try:
        made = cockpits.start(world)
        world.start_speed()
        world.send(mixed(seed=1, count=200))
        cockpits.wait_for_dags(made, DAGS)
        world.settle()
        yield made
    finally:
        local_stack.stop_servers(world.settings)


@pytest.fixture
def world(cockpit: Cockpit) -> World:
    """The world that Airflow works on."""
    return cockpit.world
