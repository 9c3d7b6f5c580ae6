"""The specification of a server: how to start it, and how to check that it is ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Server:
    """One server of the local stack. ``ports`` are setting → port; the first is the one that clients use.

    ``prepare`` writes the configuration and may be called again. ``probe`` raises until the server is ready.
    ``page`` is what a person opens in a browser, if that is all that the server is for.
    """

    name: str
    argv: tuple[str, ...]
    ports: Mapping[str, int]
    prepare: Callable[[], None]
    probe: Callable[[], None]
    env: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
