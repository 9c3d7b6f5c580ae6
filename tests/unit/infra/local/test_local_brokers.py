"""The number of local brokers, their ports, and the refused combinations."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import Refused, Usage
from infra.child_environment import child_environment
from infra.kafka.topic_config import durability
from infra.local.kafka_broker import require_broker_count
from infra.settings import Settings
from infra.settings.sources import read_settings


def formatted(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "meta.properties").touch()


def test_a_single_broker_has_the_default_ports_and_folder(tmp_path: Path) -> None:
    (broker,) = Settings(data=tmp_path).brokers
    assert (broker.name, broker.node, broker.folder) == ("kafka", 1, tmp_path / "kafka")
    assert broker.ports == {"kafka_port": 19092, "kafka_controller_port": 19093}


def test_three_brokers_have_derived_or_configured_ports(tmp_path: Path) -> None:
    three = Settings(data=tmp_path, kafka_brokers=3)
    assert three.bootstrap_servers == "127.0.0.1:19092,127.0.0.1:19102,127.0.0.1:19112"
    assert [broker.controller for broker in three.brokers] == [19093, 19103, 19113]
    own = Settings(data=tmp_path, kafka_brokers=3, kafka_peer_ports=(71, 72), kafka_peer_controller_ports=(81, 82))
    assert [(broker.name, broker.port, broker.controller) for broker in own.brokers] == [
        ("kafka-1", 19092, 19093),
        ("kafka-2", 71, 81),
        ("kafka-3", 72, 82),
    ]


def test_the_data_folder_decides_the_number_of_brokers(tmp_path: Path) -> None:
    formatted(tmp_path / "kafka-1")
    assert len(Settings(data=tmp_path).brokers) == 3
    require_broker_count(Settings(data=tmp_path, kafka_brokers=3))
    with pytest.raises(Refused, match="is on 3 brokers, not on 1") as caught:
        require_broker_count(Settings(data=tmp_path, kafka_brokers=1))
    assert "LK_DATA" in caught.value.fix


def test_one_broker_does_not_become_three(tmp_path: Path) -> None:
    formatted(tmp_path / "kafka")
    assert len(Settings(data=tmp_path, kafka_brokers=3).brokers) == 1
    with pytest.raises(Refused, match="is on 1 broker, not on 3"):
        require_broker_count(Settings(data=tmp_path, kafka_brokers=3))


def test_brokers_come_from_the_environment_and_are_passed_to_children(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LK_DATA", str(tmp_path))
    monkeypatch.setenv("LK_KAFKA_BROKERS", "3")
    monkeypatch.setenv("LK_KAFKA_PEER_PORTS", "71,72")
    monkeypatch.setenv("LK_KAFKA_PEER_CONTROLLER_PORTS", "81,82")
    child = child_environment(read_settings())
    assert (child["LK_KAFKA_BROKERS"], child["LK_KAFKA_PEER_PORTS"]) == ("3", "71,72")
    for name, value in child.items():
        monkeypatch.setenv(name, value)
    assert [broker.controller for broker in read_settings().brokers] == [19093, 81, 82]


@pytest.mark.parametrize(
    "wrong",
    [
        {"LK_KAFKA_BROKERS": "2"},
        {"LK_KAFKA_PEER_PORTS": "71"},
        {"LK_KAFKA_BROKERS": "3", "LK_KAFKA_PEER_PORTS": "71,18080", "LK_KAFKA_PEER_CONTROLLER_PORTS": "81,82"},
        {"LK_KAFKA_BROKERS": "3", "LK_KAFKA_PEER_PORTS": "71,72"},
    ],
)
def test_invalid_broker_settings_are_refused(monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str]) -> None:
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Usage):
        read_settings()


def test_replicas_follow_the_brokers_or_the_setting(tmp_path: Path) -> None:
    two = {"min.insync.replicas": "2"}
    assert durability(Settings(data=tmp_path)) == (1, {})
    assert durability(Settings(data=tmp_path, kafka_brokers=3)) == (3, two)
    assert durability(Settings(data=tmp_path, bootstrap="k:9092")) == (-1, {})
    assert durability(Settings(data=tmp_path, bootstrap="k:9092", kafka_replication=3)) == (3, two)
