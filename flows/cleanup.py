"""Housekeeping as a verb: what a crash left open is finished first, so that nothing open names anything."""

from __future__ import annotations

from core.catalog import Catalog
from infra.settings import Settings
from serving import recover
from serving.cleanup import CleanupResult
from serving.cleanup import clean_up as free


def clean_up(settings: Settings, catalog: Catalog) -> CleanupResult:
    """Finishes or reverts an open intent, then frees what nothing names any more."""
    recover.repair(settings, catalog)
    return free(settings, catalog)
