"""The one instance of the fault tests; its log and its history grow from test to test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.local import local_stack
from tests.conftest import fresh_settings
from tests.support import world as worlds
from tests.support.load import mixed
from tests.support.world import World


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Servers up, a run that was started once, and some records committed; stopped and gone after the last test."""
    folder = tmp_path_factory.mktemp("faults")
    made = worlds.make(fresh_settings(folder / "data"), folder)
    try:
        made.start_speed()
        made.send(mixed(seed=1, count=200))
        made.settle()
        yield made
    finally:
        local_stack.stop_servers(made.settings)
