"""What a crash left half done: open intents are finished or reverted, broken views are made again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from core.catalog import Catalog
from core.identifiers import Name
from infra.control import locks
from infra.control.publications import Publication, add_publication, read_publications
from infra.lake import table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.served_views import SERVING
from serving import replace_views


def repair(settings: Settings, catalog: Catalog) -> tuple[Name, ...]:
    """Finishes or reverts an open intent, then makes broken views again; returns the views that were touched."""
    table_paths.open_lake(settings)
    if not read_publications(settings):
        return ()
    with locks.hold(settings, "control") as lease:
        finished = finish_open_intent(settings, catalog, lease)
        touched = rebuild_broken_views(settings, catalog, lease)
    return tuple(finished.pins) if finished else touched


def last_done(settings: Settings) -> Publication | None:
    """The newest publication that was completed."""
    done = [p for p in read_publications(settings) if p.state == "done"]
    return done[-1] if done else None


def open_intent(settings: Settings) -> Publication | None:
    """The publication that was begun and neither finished nor reverted."""
    found = [p for p in read_publications(settings) if p.state == "intent"]
    return found[-1] if found else None


def finish_open_intent(settings: Settings, catalog: Catalog, lease: Lease) -> Publication | None:
    """Finishes an open intent when all its tables are there, else goes back to the last publication's texts.

    None when there is no open intent.
    """
    intent = open_intent(settings)
    if intent is None:
        return None
    if replace_views.tables_exist(settings, intent):
        replace_views.register(settings, intent)
        return replace_views.finish(settings, catalog, lease, intent)
    _revert(settings, catalog, lease, intent)
    reverted = replace(intent, state="reverted", at=datetime.now(UTC))
    add_publication(settings, lease, reverted)
    return reverted


def rebuild_broken_views(settings: Settings, catalog: Catalog, lease: Lease) -> tuple[Name, ...]:
    """Makes views again that are missing, unreadable or not what the last publication says; returns them."""
    last = last_done(settings)
    if last is None:
        return ()
    replace_views.register(settings, last)
    return replace_views.put(settings, catalog, lease, last)


def _revert(settings: Settings, catalog: Catalog, lease: Lease, intent: Publication) -> None:
    last = last_done(settings)
    before = last.pins if last else {}
    for view in intent.pins:
        if view not in before:
            metastore.drop_view(settings, SERVING, view)
    if last:
        replace_views.register(settings, last)
        replace_views.put(settings, catalog, lease, last)
