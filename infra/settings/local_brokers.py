"""The brokers that `lk up` starts: one, or three that replicate. An existing data folder decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SINGLE = "kafka"
THREE = ("kafka-1", "kafka-2", "kafka-3")
NAMES = (SINGLE, *THREE)
_PORT_STEP = 10  # between the ports of two brokers, unless they are set


@dataclass(frozen=True)
class Broker:
    """One node, both broker and controller. ``settings`` are the names of the settings of its two ports."""

    name: str
    node: int
    port: int
    controller: int
    folder: Path
    settings: tuple[str, str]

    @property
    def ports(self) -> dict[str, int]:
        """Setting → port; first the port for clients."""
        return dict(zip(self.settings, (self.port, self.controller), strict=True))


def brokers_in_data(data: Path) -> int | None:
    """Number of brokers in the data folder; None before the first start."""
    if any((data / name).exists() for name in THREE):
        return len(THREE)
    return 1 if (data / SINGLE / "meta.properties").is_file() else None


def brokers(data: Path, count: int, first: tuple[int, int], peers: Sequence[tuple[int, int]]) -> tuple[Broker, ...]:
    """The nodes. ``first`` and ``peers`` are (broker port, controller port); without ``peers`` they are derived."""
    own = ("kafka_port", "kafka_controller_port")
    if count == 1:
        return (Broker(SINGLE, 1, *first, data / SINGLE, own),)
    others = peers or [(first[0] + _PORT_STEP * n, first[1] + _PORT_STEP * n) for n in range(1, count)]
    settings = [own, *([("kafka_peer_ports", "kafka_peer_controller_ports")] * (count - 1))]
    return tuple(
        Broker(THREE[n], n + 1, *ports, data / THREE[n], settings[n]) for n, ports in enumerate([first, *others])
    )
