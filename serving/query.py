"""SQL for people and programs, in the schema of the served views."""

from __future__ import annotations

from infra import trino
from infra.served import SERVING
from infra.settings import Settings
from infra.trino import Result


def query(settings: Settings, sql: str) -> Result:
    """Runs one statement in Trino, catalog lake, schema serving; rows are typed Python values."""
    return trino.query(settings, sql, schema=SERVING)
