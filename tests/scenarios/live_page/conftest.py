"""One instance with the live page: a run, a build and a few bad records. One of these is markup."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from infra.local import local_stack, ui_server
from tests.conftest import fresh_settings
from tests.scenarios.live_page.records import MARKUP
from tests.support.kafka_log import Sent
from tests.support.load import mixed
from tests.support.world import World, running_world


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[World]:
    """Servers with the page, Lambda that serves a build and a running speed layer."""
    folder = tmp_path_factory.mktemp("page")
    with running_world(fresh_settings(folder / "data"), folder) as instance:
        local_stack.start_servers(instance.settings, ui_server.NAME)
        instance.start_speed()
        instance.send(mixed(seed=1, count=2_000))
        instance.settle()
        instance.build(spark)
        instance.here("publish", "--json").ok()
        instance.send([*mixed(seed=2, count=400), Sent("trades", b"ACME", MARKUP.encode())])
        instance.settle()
        yield instance
