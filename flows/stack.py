"""`lk up`: servers started, served views repaired after a crash, topics as declared."""

from __future__ import annotations

from core.catalog import Catalog
from infra.kafka import topic_admin
from infra.local import local_stack
from infra.settings import Settings
from serving.recover import recover_views


def up(settings: Settings, catalog: Catalog, *extra: str) -> tuple[local_stack.ServerState, ...]:
    """Starts the servers and the ``extra`` ones, repairs the served views, then applies the topic files."""
    states = local_stack.start_servers(settings, *extra)
    recover_views(settings, catalog)
    if settings.manages_kafka:
        topic_admin.apply_topics(settings, catalog)
    return states
