"""Free TCP ports of this machine."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from pathlib import Path

from infra.settings import LOOPBACK

_LOWEST = 10_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """``count`` different ports on which nobody listens.

    They lie below the kernel's ephemeral range. A server that died can then take its port again: no outgoing
    connection was given it meanwhile.
    """
    highest = _first_ephemeral() - 1
    with ExitStack() as bound:
        ports: list[int] = []
        while len(ports) < count:
            server = bound.enter_context(socket.socket())
            port = random.randint(_LOWEST, highest) if highest > _LOWEST else 0  # noqa: S311  any free port will do
            try:
                server.bind((LOOPBACK, port))
            except OSError:
                continue
            ports.append(int(server.getsockname()[1]))
        return ports


def _first_ephemeral() -> int:
    try:
        return int(_EPHEMERAL.read_text("ascii").split()[0])
    except OSError:
        return 32_768
