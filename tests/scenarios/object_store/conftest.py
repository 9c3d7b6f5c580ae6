"""An S3 server, and an instance with its lake and checkpoints on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.runtime import jars
from infra.settings import Settings
from infra.spark import scala_classes
from tests.support.instances.world import World, running_world
from tests.support.servers import s3_store
from tests.support.servers.s3_store import S3Server, settings_on


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """The S3 server. Processes get its credentials from the environment."""
    settings = Settings()
    jars.ensure_jars(settings, "aws")  # a first download takes longer than the start timeout of a run
    scala_classes.jar(settings)
    with s3_store.s3_server(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture(scope="package")
def world(store: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Servers and a run that serves. The tests of test_cycle.py run in order, before the others."""
    folder = tmp_path_factory.mktemp("objects")
    with running_world(settings_on(store, folder / "data", "cycle"), folder) as world:
        world.start_speed()
        yield world
