"""Servers up, topics as their files say, and what is served repaired: what a crash left half done is settled."""

from __future__ import annotations

from core.catalog import Catalog
from infra.kafka import topic_admin
from infra.local import local_stack
from infra.settings import Settings
from serving.recover import repair


def up(settings: Settings, catalog: Catalog, *asked: str) -> tuple[local_stack.ServerState, ...]:
    """Starts the servers, those asked for too, repairs the served views, then applies the topic files."""
    states = local_stack.up(settings, *asked)
    repair(settings, catalog)
    if settings.manages_kafka:
        topic_admin.apply_topics(settings, catalog)
    return states
