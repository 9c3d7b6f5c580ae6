"""One instance for all kill tests. Its log and its history grow from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import fresh_settings
from tests.support.instances.world import World, running_world
from tests.support.records.load import mixed


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Servers, a started run and some committed records. Stops the servers after the last test."""
    folder = tmp_path_factory.mktemp("faults")
    with running_world(fresh_settings(folder / "data"), folder) as instance:
        instance.start_speed()
        instance.send(mixed(seed=1, count=200))
        instance.settle()
        yield instance
