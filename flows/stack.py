"""Servers up, topics as their files say, and what is served repaired: what a crash left half done is settled."""

from __future__ import annotations

from core.catalog import Catalog
from infra.kafka import topics
from infra.local import stack
from infra.settings import Settings
from serving.recover import repair


def up(settings: Settings, catalog: Catalog, *asked: str) -> tuple[stack.ServerState, ...]:
    """Starts the servers, those asked for too, repairs the served views, then applies the topic files."""
    states = stack.up(settings, *asked)
    repair(settings, catalog)
    if settings.manages_kafka:
        topics.apply(settings, catalog)
    return states
