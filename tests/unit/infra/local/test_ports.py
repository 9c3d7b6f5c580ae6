"""Free ports are different ones, and the search for them ends; preferred ones are used if they are free."""

from __future__ import annotations

import socket

import pytest

from core.errors import Refused
from infra.local import ports
from infra.settings import LOOPBACK


def test_free_ports_are_different_and_below_the_ephemeral_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_first_ephemeral", lambda: 20_000)
    free = ports.free_ports(20)
    assert len(set(free)) == 20
    assert 10_000 <= min(free) <= max(free) < 20_000


def test_a_search_for_more_ports_than_there_are_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_first_ephemeral", lambda: 10_002)
    with pytest.raises(Refused, match="no 3 free ports") as refused:
        ports.free_ports(3)
    assert refused.value.where == "127.0.0.1, ports 10000 to 10001"


def test_a_preferred_port_is_used_if_nobody_listens_on_it() -> None:
    first, taken, last = ports.free_ports(3)
    assert ports.preferred_or_free_ports([first, taken, last]) == [first, taken, last]
    with socket.socket() as listening:
        listening.bind((LOOPBACK, taken))
        listening.listen()
        chosen = ports.preferred_or_free_ports([first, taken, last])
    assert (chosen[0], chosen[2]) == (first, last)
    assert chosen[1] not in (first, taken, last)


def test_another_port_is_never_a_preferred_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four ports that may be chosen, two are preferred, and one of these is taken."""
    base = next(port for port in range(20_000, 30_000, 10) if all(map(is_free, range(port, port + 4))))
    monkeypatch.setattr(ports, "_LOWEST", base)
    monkeypatch.setattr(ports, "_first_ephemeral", lambda: base + 4)
    with socket.socket() as listening:
        listening.bind((LOOPBACK, base))
        listening.listen()
        assert ports.preferred_or_free_ports([base, base + 1])[1] == base + 1
        assert ports.preferred_or_free_ports([base, base + 1])[0] in (base + 2, base + 3)


def test_a_port_whose_server_has_closed_its_connections_is_free() -> None:
    (port,) = ports.free_ports(1)
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((LOOPBACK, port))
        server.listen()
        with socket.create_connection((LOOPBACK, port)) as client:
            accepted, _ = server.accept()
            accepted.close()  # the side that closes first keeps the port for a minute
            assert client.recv(1) == b""
    assert ports.preferred_or_free_ports([port]) == [port]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) != 0
