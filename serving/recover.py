"""Recovers from a crash: finishes or reverts an open intent and replaces broken views."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from infra.control import locks
from infra.control.publications import Publication, add_publication, last_done, last_number, open_intent
from infra.lake import table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from infra.trino import metastore
from infra.trino.served_views import SERVING
from serving import register_tables, replace_views, valid_sql


def recover_views(settings: Settings, catalog: Catalog) -> tuple[Name, ...]:
    """Finishes or reverts an open intent, then replaces broken views; returns the views that it replaced."""
    table_paths.open_lake(settings)
    if not last_number(settings):
        return ()
    with locks.hold(settings, "control") as lease:
        publication = finish_open_intent(settings, catalog, lease)
        replaced = replace_broken_views(settings, catalog, lease)
    return tuple(publication.pins) if publication else replaced


def finish_open_intent(settings: Settings, catalog: Catalog, lease: Lease) -> Publication | None:
    """Finishes an open intent if its tables exist and Trino accepts its SQL, else restores the last publication.

    Returns the finished or reverted publication; None without an open intent. Raises Refused, and changes nothing, when
    the table of publications is older than what Trino serves.
    """
    replace_views.require_table_not_behind(settings)
    intent = open_intent(settings)
    if intent is None:
        return None
    if _can_be_finished(settings, intent):
        return replace_views.finish(settings, catalog, lease, intent)
    _revert(settings, catalog, lease, intent)
    reverted = replace(intent, state="reverted", at=datetime.now(UTC))
    add_publication(settings, lease, reverted)
    return reverted


def _can_be_finished(settings: Settings, intent: Publication) -> bool:
    if not replace_views.tables_exist(settings, intent):
        return False
    register_tables.register_publication(settings, intent)
    last = last_done(settings)
    try:
        valid_sql.require_valid(settings, intent.pins, last.pins if last else {}, intent.sql)
    except Refused:
        return False
    return True


def replace_broken_views(settings: Settings, catalog: Catalog, lease: Lease) -> tuple[Name, ...]:
    """Replaces views that are missing, unreadable or differ from the last publication; returns them."""
    last = last_done(settings)
    if last is None:
        return ()
    register_tables.register_publication(settings, last)
    return replace_views.restore(settings, catalog, lease, last)


def _revert(settings: Settings, catalog: Catalog, lease: Lease, intent: Publication) -> None:
    last = last_done(settings)
    before = last.pins if last else {}
    for view in intent.pins:
        if view not in before:
            lease.check()
            metastore.drop_view(settings, SERVING, view)
    if last:
        register_tables.register_publication(settings, last)
        replace_views.restore(settings, catalog, lease, last)
