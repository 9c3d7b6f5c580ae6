"""One instance with the live page: a run, a build and a few bad records. One of these is markup."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from infra.local import local_stack, ui_server
from tests.conftest import fresh_settings
from tests.scenarios.live_page.records import MARKUP
from tests.support.instances.world import World, running_world
from tests.support.records.kafka_log import Sent
from tests.support.records.load import mixed


@pytest.fixture(scope="package")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """A folder on a disk of its own; None where this user may mount none."""
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", str(folder)], capture_output=True)
    yield None if mounted.returncode else folder
    subprocess.run(["umount", str(folder)], capture_output=True)


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, small_disk: Path | None) -> Iterator[World]:
    """Servers with the page, Lambda that serves a build and a running speed layer. Its lake is on the small disk."""
    folder = tmp_path_factory.mktemp("page")
    settings = fresh_settings(folder / "data")
    settings = settings.model_copy(update={"lake": str(small_disk / "lake")}) if small_disk else settings
    with running_world(settings, folder) as instance:
        local_stack.start_servers(instance.settings, ui_server.NAME)
        instance.start_speed()
        instance.send(mixed(seed=1, count=2_000))
        instance.settle()
        instance.build(spark)
        instance.here("publish", "--json").ok()
        instance.send([*mixed(seed=2, count=400), Sent("trades", b"ACME", MARKUP.encode())])
        instance.settle()
        yield instance
