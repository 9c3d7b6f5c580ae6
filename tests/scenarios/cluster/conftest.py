"""The one instance of the cluster tests: three brokers, Trino, and a Spark cluster of two workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from infra.local import local_stack
from infra.local.ports import free_ports
from tests.conftest import fresh_settings
from tests.support import world as worlds
from tests.support.workers import CONF, Workers
from tests.support.world import World


@dataclass(frozen=True)
class Cluster:
    """A world on more than one broker and worker."""

    world: World
    workers: Workers


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Everything up and a run that was started; stopped and gone after the last test."""
    folder = tmp_path_factory.mktemp("cluster")
    one, two, three, four, port, pages = free_ports(6)
    settings = fresh_settings(folder / "data").model_copy(
        update={
            "kafka_brokers": 3,
            "kafka_peer_ports": (one, two),
            "kafka_peer_controller_ports": (three, four),
            "kafka_memory": "320m",
            "spark_master": f"spark://127.0.0.1:{port}",
            "spark_conf": CONF,
        }
    )
    workers = Workers(settings, port, pages)
    try:
        world = worlds.make(settings, folder)
        workers.start()
        world.start_speed()
        yield Cluster(world, workers)
    finally:
        local_stack.stop_servers(settings)
