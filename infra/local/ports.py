"""Free TCP ports of this machine."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from core.errors import Refused
from infra.settings import LOOPBACK

_LOWEST = 10_000
_TRIES = 10_000  # for all ports together
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """``count`` different ports on which nobody listens.

    They lie below the kernel's ephemeral range. A server that died can then take its port again: no outgoing
    connection was given it meanwhile. Raises Refused when there are not so many.
    """
    highest = _first_ephemeral() - 1
    ports: list[int] = []
    with ExitStack() as bound:
        for _ in range(_TRIES):
            server = socket.socket()
            port = random.randint(_LOWEST, highest) if highest > _LOWEST else 0  # noqa: S311  any free port will do
            try:
                server.bind((LOOPBACK, port))
            except OSError:
                server.close()
                continue
            bound.enter_context(closing(server))
            ports.append(int(server.getsockname()[1]))
            if len(ports) == count:
                return ports
    raise Refused(
        f"no {count} free ports", where=f"{LOOPBACK}, ports {_LOWEST} to {highest}", fix="stop what listens on them"
    )


def preferred_or_free_ports(preferred: Sequence[int]) -> list[int]:
    """Each preferred port if nobody listens on it, else another free one."""
    taken = []
    with ExitStack() as bound:
        for port in preferred:
            server = bound.enter_context(closing(socket.socket()))
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that closed do not keep it
            try:
                server.bind((LOOPBACK, port))
            except OSError:
                taken.append(port)
        others = dict(zip(taken, free_ports(len(taken)), strict=True)) if taken else {}
    return [others.get(port, port) for port in preferred]


def _first_ephemeral() -> int:
    try:
        return int(_EPHEMERAL.read_text("ascii").split()[0])
    except OSError:
        return 32_768
