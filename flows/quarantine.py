"""Quarantine verbs that need more than its tables: the cut of a build, or a Spark session."""

from __future__ import annotations

from pathlib import Path

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from infra.control.claims import claim_of
from infra.settings import Settings
from infra.spark.session import temporary_session
from speed.quarantine import rule_counts
from speed.quarantine.redrive import Redriven, redrive
from speed.quarantine.rule_counts import RuleCount


def count_by_rule(settings: Settings, catalog: Catalog, since: Name | None = None) -> list[RuleCount]:
    """Counts quarantined records by topic and rule: all, or those after the cut of a build."""
    return rule_counts.count_by_rule(settings, catalog, claim_of(settings, since).cut if since else Cut())


def redrive_file(settings: Settings, catalog: Catalog, file: Path) -> Redriven:
    """Sends the repaired records of a file to their topics."""
    with temporary_session(settings, "redrive") as spark:
        return redrive(spark, settings, catalog, file)
