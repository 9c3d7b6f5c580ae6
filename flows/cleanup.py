"""`lk cleanup`: finishes what a crash left open first, so that no open publication uses a build."""

from __future__ import annotations

from core.catalog import Catalog
from infra.local.log_files import shorten_logs
from infra.settings import Settings
from serving import cleanup, recover
from serving.cleanup import CleanupResult


def clean_up(settings: Settings, catalog: Catalog) -> CleanupResult:
    """Finishes or reverts an open publication, then deletes what nothing uses any more, and shortens large logs."""
    recover.recover_views(settings, catalog)
    shorten_logs(settings)
    return cleanup.clean_up(settings, catalog)
