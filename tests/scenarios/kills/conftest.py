"""One instance for all kill tests. Its log and its history grow from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.local import local_stack
from tests.conftest import fresh_settings
from tests.support.load import mixed
from tests.support.world import World, make_world


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Servers, a started run and some committed records. Stops the servers after the last test."""
    folder = tmp_path_factory.mktemp("faults")
    instance = make_world(fresh_settings(folder / "data"), folder)
    try:
        instance.start_speed()
        instance.send(mixed(seed=1, count=200))
        instance.settle()
        yield instance
    finally:
        local_stack.stop_servers(instance.settings)
