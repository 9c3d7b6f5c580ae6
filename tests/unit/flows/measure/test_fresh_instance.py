"""A fresh instance takes the ports that it prefers if they are free."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.measure import fresh_instance
from infra.local.ports import free_ports
from infra.settings import LOOPBACK, Settings

NAMES = ("kafka_port", "kafka_controller_port", "trino_port", "airflow_port", "ui_port")


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """The environment of this process comes back after a test: ``create`` changes it."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def ports(settings: Settings) -> list[int]:
    return [getattr(settings, name) for name in NAMES]


def test_preferred_ports_are_written_into_the_settings_file(tmp_path: Path) -> None:
    preferred = free_ports(5)
    created = fresh_instance.create(Settings(), tmp_path / "new", dict(zip(NAMES, preferred, strict=True)))
    assert ports(created.settings) == preferred
    assert f"trino_port = {preferred[2]}\n" in created.config.read_text("utf-8")


def test_a_preferred_port_that_is_in_use_is_replaced(tmp_path: Path) -> None:
    preferred = free_ports(5)
    with socket.socket() as listening:
        listening.bind((LOOPBACK, preferred[2]))
        listening.listen()
        created = fresh_instance.create(Settings(), tmp_path / "new", dict(zip(NAMES, preferred, strict=True)))
    actual = ports(created.settings)
    assert [port for port in actual if port not in preferred] == [actual[2]]
    assert len(set(actual)) == 5


def test_without_preferred_ports_all_are_free_ones(tmp_path: Path) -> None:
    assert len(set(ports(fresh_instance.create(Settings(), tmp_path / "new").settings))) == 5
