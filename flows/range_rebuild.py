"""`lk build --views`: windows of some views computed again, as a build that the gate checks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from batch.range_rebuild import claim_range
from core.catalog import Catalog
from core.identifiers import Name
from flows.batch_cycle import batch_session
from flows.lineage_steps import build
from infra.control.builds import Built
from infra.control.publications import last_done
from infra.settings import Settings
from serving import recover


def rebuild_range(
    settings: Settings, catalog: Catalog, views: Sequence[Name], start: datetime, end: datetime
) -> tuple[Built, ...]:
    """Builds what these views serve, with the windows that start in [start, end) computed again. Publishes nothing.

    A repeat resumes the same build, or returns it, until it is published.
    """
    recover.recover_views(settings, catalog)
    last = last_done(settings)
    claimed = claim_range(settings, catalog, last.pins if last else {}, views, start, end)
    with batch_session(settings, claimed.cut) as spark:
        return tuple(build(spark, settings, catalog, claimed))
