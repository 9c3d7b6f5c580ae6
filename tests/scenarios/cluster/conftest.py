"""One instance for all cluster tests: three brokers, Trino, and a Spark cluster with two workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from infra.local.ports import free_ports
from infra.local.spark_workers import SparkWorkers
from tests.conftest import fresh_settings
from tests.support.instances.world import World, running_world
from tests.support.servers.workers import CONF, COUNT, SLOTS


@dataclass(frozen=True)
class Cluster:
    """An instance with three brokers and its two Spark workers."""

    world: World
    workers: SparkWorkers


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Everything is up and a run is started. Stops the servers after the last test."""
    folder = tmp_path_factory.mktemp("cluster")
    peer_1, peer_2, controller_1, controller_2, spark_port, ui_port = free_ports(6)
    settings = fresh_settings(folder / "data").model_copy(
        update={
            "kafka_brokers": 3,
            "kafka_peer_ports": (peer_1, peer_2),
            "kafka_peer_controller_ports": (controller_1, controller_2),
            "kafka_memory": "320m",
            "spark_master": f"spark://127.0.0.1:{spark_port}",
            "spark_conf": CONF,
        }
    )
    workers = SparkWorkers(settings, spark_port, ui_port, COUNT, SLOTS)
    with running_world(settings, folder) as world:
        workers.start()
        world.start_speed()
        yield Cluster(world, workers)
