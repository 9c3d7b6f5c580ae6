"""The real servers: started twice, ports, killed servers, stale state, and data that survives."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from trino.dbapi import connect

from core.errors import Refused, Usage
from infra.local import kafka_broker, local_processes, local_stack
from infra.local.ports import free_ports
from infra.local.server_spec import Server
from infra.retry import retry_on
from infra.settings import Settings
from tests.conftest import fresh_settings
from tests.support.faults.killing import kill

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """An instance that these tests may break. Every test leaves it running."""
    settings = fresh_settings(tmp_path_factory.mktemp("own"))
    local_stack.start_servers(settings)
    yield settings
    local_stack.stop_servers(settings)


def pids(settings: Settings) -> dict[str, int | None]:
    return {state.name: state.pid for state in local_stack.server_states(settings)}


def statuses(settings: Settings) -> dict[str, str]:
    return {state.name: state.status for state in local_stack.server_states(settings)}


def processes_of(settings: Settings) -> list[int]:
    """Every process whose arguments name the instance's folder."""
    folder = str(settings.data)
    running = psutil.process_iter(["pid", "cmdline"])
    return [p.pid for p in running if any(folder in word for word in p.info["cmdline"] or [])]


def listeners(pid: int) -> set[str]:
    connections = psutil.Process(pid).net_connections("tcp")
    return {c.laddr.ip for c in connections if c.laddr and c.status == psutil.CONN_LISTEN}


def assert_status(settings: Settings, name: str, status: str) -> None:
    def has_status() -> None:
        assert statuses(settings)[name] == status

    retry_on(AssertionError, has_status, 20, every=0.05)


def read_all(settings: Settings, topic: str) -> list[bytes | None]:
    config = {"bootstrap.servers": settings.bootstrap_servers, "group.id": "t", "enable.auto.commit": False}
    consumer = Consumer(config)
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        consumer.assign([TopicPartition(topic, 0, 0)])
        return [message.value() for message in consumer.consume(end, timeout=10)]
    finally:
        consumer.close()


def produce(settings: Settings, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": settings.bootstrap_servers, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(10) == 0


def trino_rows(settings: Settings, sql: str) -> list[list[object]]:
    address = {"host": "127.0.0.1", "port": settings.trino_port, "user": settings.trino_user}
    with connect(**address) as connection:  # type: ignore[no-untyped-call]
        rows: list[list[object]] = connection.cursor().execute(sql).fetchall()
        return rows


def test_up_is_probed_on_loopback_and_does_nothing_the_second_time(own: Settings) -> None:
    before = pids(own)
    assert statuses(own) == {"kafka": "up", "trino": "up"}
    assert trino_rows(own, "SHOW CATALOGS LIKE 'lake'") == [["lake"]]
    for pid in before.values():
        assert pid
        assert listeners(pid) <= {"127.0.0.1", "::ffff:127.0.0.1"}
    local_stack.start_servers(own)
    assert pids(own) == before


def test_two_instances_live_side_by_side(own: Settings, stack_settings: Settings) -> None:
    assert statuses(own) == {"kafka": "up", "trino": "up"}
    # Earlier tests may have left state files of their processes in the shared instance.
    assert statuses(stack_settings).items() >= {"kafka": "up", "trino": "up"}.items()
    assert set(pids(own).values()).isdisjoint(pids(stack_settings).values())


@pytest.fixture
def stack_settings(request: pytest.FixtureRequest) -> Settings:
    """The shared instance; its fixture has the name of a module here."""
    shared: Settings = request.getfixturevalue("stack")
    return shared


def test_up_restarts_only_a_killed_server_with_its_data(own: Settings) -> None:
    admin = AdminClient({"bootstrap.servers": own.bootstrap_servers})
    admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(10)
    produce(own, "kept", [b"one", b"two"])
    before = pids(own)
    assert before["kafka"]
    kill(before["kafka"])
    assert_status(own, "kafka", "died")
    assert statuses(own)["trino"] == "up"
    local_stack.start_servers(own)
    assert pids(own)["trino"] == before["trino"]
    assert pids(own)["kafka"] != before["kafka"]
    assert read_all(own, "kept") == [b"one", b"two"]


def test_a_hanging_server_is_not_up(own: Settings) -> None:
    pid = pids(own)["kafka"]
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        assert statuses(own) == {"kafka": "not answering", "trino": "up"}
    finally:
        os.kill(pid, signal.SIGCONT)
    assert_status(own, "kafka", "up")


def test_logs(own: Settings) -> None:
    assert len(list(local_stack.log_lines(own, "trino", 5))) == 5
    with pytest.raises(Usage) as caught:
        list(local_stack.log_lines(own, "../kafka"))
    assert caught.value.fix.startswith("existing logs: kafka")


def test_down_leaves_no_process_and_data_survives_new_ports(own: Settings) -> None:
    trino_rows(own, "CREATE SCHEMA IF NOT EXISTS lake.serving WITH (location = 'local:///serving')")
    trino_rows(own, "CREATE OR REPLACE VIEW lake.serving.v AS SELECT 42 AS answer")
    assert len(processes_of(own)) == 2
    assert sorted(local_stack.stop_servers(own)) == ["kafka", "trino"]
    assert processes_of(own) == []
    assert local_stack.stop_servers(own) == ()
    assert statuses(own) == {"kafka": "down", "trino": "down"}
    broker, controller = free_ports(2)
    moved = own.model_copy(update={"kafka_port": broker, "kafka_controller_port": controller})
    local_stack.start_servers(moved)
    assert read_all(moved, "kept") == [b"one", b"two"]
    assert trino_rows(moved, "SELECT answer FROM lake.serving.v") == [[42]]
    local_processes.stop_process(moved, "kafka")
    local_stack.start_servers(own)


def test_a_port_in_use_is_refused_and_no_server_stays_half_started(own: Settings) -> None:
    local_processes.stop_process(own, "kafka")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", own.kafka_port))
        taken.listen()
        with pytest.raises(Refused, match=f"port {own.kafka_port} of kafka is in use"):
            local_stack.start_servers(own)
        assert statuses(own) == {"kafka": "down", "trino": "up"}
    local_stack.start_servers(own)


def test_a_server_that_dies_while_starting_is_reported_with_its_log(own: Settings) -> None:
    local_processes.stop_process(own, "kafka")
    (own.data / "kafka" / "meta.properties").rename(own.data / "kafka" / "aside")
    (own.data / "kafka" / "meta.properties").write_text("version=1\ncluster.id=another\nnode.id=7\n", "utf-8")
    with pytest.raises(Refused, match="kafka exited during startup; its last lines") as caught:
        local_stack.start_servers(own)
    assert "node.id" in caught.value.what.lower() or "node id" in caught.value.what.lower()
    assert caught.value.where == str(local_processes.log_file(own, "kafka"))
    assert statuses(own)["kafka"] == "down"
    (own.data / "kafka" / "aside").replace(own.data / "kafka" / "meta.properties")
    local_stack.start_servers(own)


def test_a_server_that_never_answers_is_stopped_at_the_deadline(own: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise ConnectionRefusedError

    def silent(_: Settings) -> Server:
        return Server("silent", ("sleep", "1000"), {}, prepare=lambda: None, probe=refused)

    monkeypatch.setattr(local_stack, "SERVERS", (("silent", silent, lambda _: True),))
    with pytest.raises(Refused, match="silent did not answer within 1 s"):
        local_stack.start_servers(own, deadline=1)
    assert local_processes.recorded(own, "silent") is None


def test_a_stale_state_file_is_ignored(own: Settings) -> None:
    local_processes.stop_process(own, "kafka")
    path = local_processes.state_file(own, "kafka")
    path.write_text(f'{{"name": "kafka", "pid": {os.getpid()}, "created": 1.0, "ports": {{}}}}', "utf-8")
    assert statuses(own)["kafka"] == "died"
    local_stack.start_servers(own)
    assert statuses(own)["kafka"] == "up"
    kafka_broker.server("kafka", own).probe()
