"""`lk cleanup`: finishes what a crash left open first, so that no open publication uses a build."""

from __future__ import annotations

from core.catalog import Catalog
from infra.settings import Settings
from serving import recover
from serving.cleanup import CleanupResult
from serving.cleanup import clean_up as delete_unused


def clean_up(settings: Settings, catalog: Catalog) -> CleanupResult:
    """Finishes or reverts an open publication, then deletes what nothing uses any more."""
    recover.repair(settings, catalog)
    return delete_unused(settings, catalog)
