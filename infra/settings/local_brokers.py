"""The brokers that `lk up` starts: one, or three that replicate. What the data folder was made for counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SINGLE = "kafka"
THREE = ("kafka-1", "kafka-2", "kafka-3")
NAMES = (SINGLE, *THREE)
_STEP = 10  # from one broker's ports to the next one's, where they are not set


@dataclass(frozen=True)
class Broker:
    """One node, broker and controller at once; ``settings`` name its two ports."""

    name: str
    node: int
    port: int
    controller: int
    folder: Path
    settings: tuple[str, str]

    @property
    def ports(self) -> dict[str, int]:
        """Setting → port, the one that people use first."""
        return dict(zip(self.settings, (self.port, self.controller), strict=True))


def brokers_in_data(data: Path) -> int | None:
    """How many brokers the data folder is of; None before the first start."""
    if any((data / name).exists() for name in THREE):
        return len(THREE)
    return 1 if (data / SINGLE / "meta.properties").is_file() else None


def brokers(data: Path, count: int, first: tuple[int, int], peers: Sequence[tuple[int, int]]) -> tuple[Broker, ...]:
    """The nodes; ``first`` and ``peers`` are ports of brokers and controllers. Without ``peers`` they are derived."""
    own = ("kafka_port", "kafka_controller_port")
    if count == 1:
        return (Broker(SINGLE, 1, *first, data / SINGLE, own),)
    others = peers or [(first[0] + _STEP * n, first[1] + _STEP * n) for n in range(1, count)]
    named = [own, *([("kafka_peer_ports", "kafka_peer_controller_ports")] * (count - 1))]
    return tuple(Broker(THREE[n], n + 1, *ports, data / THREE[n], named[n]) for n, ports in enumerate([first, *others]))
