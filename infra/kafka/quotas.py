"""Kafka's quotas, from ``access.toml``: how many bytes a second a user, or a run, may send and fetch."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from infra.kafka.client_config import SPEED

TABLE = "quotas"  # the table of the matrix that is no principal
_EACH_USER = ("--entity-type", "users", "--entity-default")
_EACH_RUN = ("--entity-type", "users", "--entity-name", SPEED, "--entity-type", "clients", "--entity-default")
_ENTITIES = {"each_user": _EACH_USER, "each_run": _EACH_RUN}
_LIMITS = {"produce": "producer_byte_rate", "fetch": "consumer_byte_rate"}


@dataclass(frozen=True)
class Quota:
    """Bytes a second, to and from each broker, for each user or each run; ``name`` is that of the matrix."""

    name: str
    limits: tuple[tuple[str, int], ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        """What Kafka's tool `kafka-configs.sh` needs to set it."""
        limits = ",".join(f"{_LIMITS[which]}={bytes_a_second}" for which, bytes_a_second in self.limits)
        return ("--alter", *_ENTITIES[self.name], "--add-config", limits)


def read_quotas(path: Path) -> tuple[Quota, ...]:
    """Every quota of the matrix."""
    table = tomllib.loads(path.read_text("utf-8"))[TABLE]
    return tuple(Quota(name, tuple(limits.items())) for name, limits in table.items())


def quotas_table(quotas: tuple[Quota, ...]) -> str:
    """The quotas as a table in Markdown, with the arguments that set them on a cluster of yours."""
    rows = [f"| {q.name.replace('_', ' ')} | {_most(q)} | `{' '.join(q.arguments)}` |" for q in quotas]
    return "\n".join(["| for | at most, with each broker | `kafka-configs.sh` |", "| --- | --- | --- |", *rows]) + "\n"


def _most(quota: Quota) -> str:
    return ", ".join(f"{which} {size >> 20} MiB/s" for which, size in quota.limits)
