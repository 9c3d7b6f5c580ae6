"""A server is a value: how to start it, and how to know that it is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Server:
    """One server of the stack. ``ports`` are setting → port, the one that people use first.

    ``prepare`` writes configuration and may be repeated; ``probe`` raises anything until it is ready.
    """

    name: str
    argv: tuple[str, ...]
    ports: Mapping[str, int]
    prepare: Callable[[], None]
    probe: Callable[[], None]
    env: Mapping[str, str] = field(default_factory=dict)
