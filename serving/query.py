"""SQL for people and programs, in the schema of the served views."""

from __future__ import annotations

from infra.settings import Settings
from infra.trino import metastore
from infra.trino.metastore import QueryResult
from infra.trino.served_views import SERVING


def query(settings: Settings, sql: str) -> QueryResult:
    """Runs one statement in Trino, catalog lake, schema serving; rows are typed Python values."""
    return metastore.query(settings, sql, schema=SERVING)
