"""Three brokers on this machine, one of which dies. With Spark workers: scenarios/cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from infra.control.manifest import read_epochs
from infra.definitions import definition_files
from infra.kafka import admin_requests
from infra.local import local_processes, local_stack
from infra.local.ports import free_ports
from infra.settings import LOOPBACK, Settings
from speed.process import lifecycle
from tests.conftest import fresh_settings
from tests.support.checks.assertions import expected, same
from tests.support.faults.killing import kill
from tests.support.instances.speed_runs import running
from tests.support.records.kafka_log import Log, send
from tests.support.records.load import mixed
from tests.support.records.pieces import Pieces, measured

VIEW = Name("trades_by_day")


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """An instance of three brokers without other servers."""
    ports = free_ports(4)
    peers = {"kafka_peer_ports": tuple(ports[:2]), "kafka_peer_controller_ports": tuple(ports[2:])}
    changed = {**peers, "kafka_brokers": 3, "kafka_memory": "320m", "trino_host": LOOPBACK}
    settings = fresh_settings(tmp_path_factory.mktemp("brokers") / "data").model_copy(update=changed)
    try:
        local_stack.start_servers(settings)
        yield settings
    finally:
        local_stack.stop_servers(settings)


def check(settings: Settings, catalog: Catalog, run: Name, log: Log) -> None:
    """The run's combined partial rows equal the oracle's result over the whole log."""
    view = catalog.view(VIEW)
    served = Pieces(settings, catalog).speed(view, run, -1)
    same(VIEW, served, expected(view, log.read(), measured(view)))


@pytest.mark.slow
def test_a_broker_killed_under_a_running_job_stops_nothing(brokers: Settings, spark: SparkSession) -> None:
    catalog = definition_files.load(brokers).only([VIEW])
    run, log = lifecycle.declare(brokers, catalog), Log(brokers, ["trades"])
    trades = [record for record in mixed(seed=1, count=400) if record.topic == "trades"]
    with running(brokers, spark, catalog, run) as (query, _):
        send(brokers, trades[:100])
        query.processAllAvailable()
        check(brokers, catalog, run.id, log)
        leader = admin_requests.admin_client(brokers).list_topics(timeout=10).topics["trades"].partitions[0].leader
        victim = local_processes.running_process(brokers, f"kafka-{leader}")
        assert victim
        kill(victim.pid)
        send(brokers, trades[100:200])
        query.processAllAvailable()
        check(brokers, catalog, run.id, log)
        assert local_processes.running_process(brokers, f"kafka-{leader}") is None
        local_stack.start_servers(brokers)
        send(brokers, trades[200:])
        query.processAllAvailable()
    check(brokers, catalog, run.id, log)
    assert len(read_epochs(brokers, run.id)) >= 3
    assert len(log.records) == len(trades)
