"""Quarantine as verbs that need more than its tables: a cut to count from, a Spark session to decode repairs."""

from __future__ import annotations

from pathlib import Path

from core.catalog import Catalog
from core.cut import Cut
from core.ident import Name
from infra import control
from infra.settings import Settings
from infra.spark import borrowed
from speed import quarantine
from speed.quarantine import Broken
from speed.redrive import Redriven
from speed.redrive import redrive as send_again


def digest(settings: Settings, catalog: Catalog, since: Name | None = None) -> list[Broken]:
    """Quarantined records by topic and rule: all, or those after the cut of a build."""
    return quarantine.digest(settings, catalog, control.claim_of(settings, since).cut if since else Cut())


def redrive(settings: Settings, catalog: Catalog, file: Path) -> Redriven:
    """Sends the repaired records of a file to their topics."""
    with borrowed(settings, "redrive") as spark:
        return send_again(spark, settings, catalog, file)
