"""Servers up, and what is served repaired: what a crash left half done is finished or reverted."""

from __future__ import annotations

from core.catalog import Catalog
from infra.local import stack
from infra.settings import Settings
from serving.repair import repair


def up(settings: Settings, catalog: Catalog, *asked: str) -> tuple[stack.State, ...]:
    """Starts the servers, those asked for too, then repairs the served views."""
    states = stack.up(settings, *asked)
    repair(settings, catalog)
    return states
