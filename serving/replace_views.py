"""Changes what is served, in steps that can be finished or reverted after a crash.

0. Write the intent row, which holds the SQL of every view. Fault points: ``serving.0_before_intent``,
   ``serving.0_after_intent``.
1. Take the fence of this publication; replace the views that differ, one by one, then serving.status. Fault points:
   ``serving.1_before_view``, ``serving.1_between_views``.
2. Write the done row. Fault points: ``serving.2_before_done``, ``serving.2_after_done``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from core.catalog import Catalog
from core.compute import merge_sql
from core.errors import Refused
from core.identifiers import Name
from infra import faults
from infra.control import audit
from infra.control.pins import Pin
from infra.control.publications import Publication, add_publication, last_done, last_number
from infra.definitions.sealed_catalog import require_newest_erasures
from infra.lake import delta, table_paths
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.trino import metastore, served_views, view_fences
from infra.trino.served_views import PINNED, SERVING, STATUS, Served
from infra.trino.view_fences import ViewFence
from serving import register_tables, valid_sql, view_sql, whole_tables


@dataclass(frozen=True)
class ServingChange:
    """A change of what is served: its kind, the pins of every view after it, and what the publication records.

    ``kept_sql`` is the SQL of views whose pin does not change. ``who`` is the current user if it is None.
    """

    kind: str
    pins: Mapping[Name, Pin]
    why: str
    who: str | None
    evidence: Mapping[str, Any]
    kept_sql: Mapping[Name, str]


def apply_change(settings: Settings, catalog: Catalog, lease: Lease, change: ServingChange) -> Publication:
    """Serves the pins of a change and returns its publication. The caller holds the ``control`` lease.

    Raises TryAgain, and changes nothing, if a person was erased since the verb read the definitions.
    """
    require_newest_erasures(settings, catalog)
    seq = last_number(settings) + 1
    now = datetime.now(UTC)
    new_sql = {
        view: view_sql.pinned_sql(settings, catalog, view, pin)
        for view, pin in change.pins.items()
        if view not in change.kept_sql
    }
    intent = Publication(
        seq=seq,
        kind=change.kind,
        state="intent",
        at=now,
        who=change.who or current_user(),
        why=change.why,
        evidence=change.evidence,
        pins=dict(sorted(change.pins.items())),
        sql={**change.kept_sql, **new_sql, STATUS: view_sql.status_sql(change.pins, seq, now)},
        audit=str(audit.head(settings)),
    )
    last = last_done(settings)
    before = last.pins if last else {}
    whole_tables.require_whole(settings, _changed_pins(change, before))
    register_tables.register_publication(settings, intent)
    valid_sql.require_valid(settings, intent.pins, before, intent.sql)  # an intent that it refuses would stay open
    faults.at("serving.0_before_intent")
    add_publication(settings, lease, intent)
    faults.at("serving.0_after_intent")
    return finish(settings, catalog, lease, intent)


def _changed_pins(change: ServingChange, before: Mapping[Name, Pin]) -> dict[Name, Pin]:
    """The pins that are new, and those of views whose SQL is written again."""
    return {view: pin for view, pin in change.pins.items() if before.get(view) != pin or view not in change.kept_sql}


def finish(settings: Settings, catalog: Catalog, lease: Lease, intent: Publication) -> Publication:
    """Replaces the views that differ, then ``serving.status``, then writes the done row."""
    publisher = _Publisher(settings, lease, view_fences.take(settings, lease, intent.seq))
    _replace_views(publisher, catalog, intent)
    _replace_status(publisher, intent)
    faults.at("serving.2_before_done")
    lease.check()
    publication = replace(intent, state="done", at=datetime.now(UTC))
    add_publication(settings, lease, publication)
    faults.at("serving.2_after_done")
    return publication


def restore(settings: Settings, catalog: Catalog, lease: Lease, publication: Publication) -> tuple[Name, ...]:
    """Replaces views and ``serving.status`` where they differ from the publication; returns the replaced views."""
    replaced: list[Name] = []
    status_matches = _status_matches(settings, publication)
    if not status_matches or _outdated(settings, publication):
        publisher = _Publisher(settings, lease, view_fences.take(settings, lease, publication.seq))
        replaced = _replace_views(publisher, catalog, publication)
        _replace_status(publisher, publication)  # always, and last: its fence is that of a publisher that has finished
        replaced += [] if status_matches else [STATUS]
    return (*replaced, *(view for view in _add_comments(settings, catalog, publication) if view not in replaced))


@dataclass(frozen=True)
class _Publisher:
    """A process that replaces views under the lease ``control``, with the fence that its statements need."""

    settings: Settings
    lease: Lease
    fence: ViewFence

    def replace_view(self, schema: str, name: str, sql: str, comment: str = "") -> None:
        """Creates a view or replaces its text. Raises TryAgain when another process has taken over the lease."""
        self.lease.check()
        faults.at("serving.1_before_view")
        try:
            metastore.replace_view(self.settings, schema, name, sql, comment)
        except metastore.SqlRefused:
            self.lease.check()  # a successor drops the fence
            raise


def _replace_views(publisher: _Publisher, catalog: Catalog, publication: Publication) -> list[Name]:
    replaced = []
    served = served_views.read_served(publisher.settings, publication.pins)
    for view, pin in publication.pins.items():
        if not _serves(served.get(view), view, pin):
            _replace_view(publisher, catalog, view, served.get(view), pin, publication.sql[view])
            replaced.append(view)
            faults.at("serving.1_between_views")
    return replaced


def _replace_status(publisher: _Publisher, publication: Publication) -> None:
    sql = publisher.fence.guard(publication.sql[STATUS])
    publisher.replace_view(SERVING, STATUS, sql, "What every view serves")


def _replace_view(
    publisher: _Publisher, catalog: Catalog, view: Name, served: Served | None, pin: Pin, sql: str
) -> None:
    """Replaces the SQL of one served view, and the view that people name if its shape changed."""
    has_shape = served is not None and view_sql.has_shape(served.inner, view, pin)
    inner = served.inner if served and has_shape else view_sql.pinned_name(view, pin, publisher.fence)
    publisher.replace_view(PINNED, inner, publisher.fence.guard(sql))
    if not has_shape:
        definition = catalog.views.get(view)
        outer_sql = view_sql.serving_view_sql(inner)
        publisher.replace_view(SERVING, view, outer_sql, definition.comment if definition else "")
        if definition:
            metastore.comment_columns(publisher.settings, SERVING, view, merge_sql.comments(definition))


def _outdated(settings: Settings, publication: Publication) -> bool:
    served = served_views.read_served(settings, publication.pins)
    return not all(_serves(served.get(view), view, pin) for view, pin in publication.pins.items())


def _serves(served: Served | None, view: Name, pin: Pin) -> bool:
    """Whether a view has the shape of a pin and serves it."""
    return served is not None and view_sql.has_shape(served.inner, view, pin) and _serves_pin(served, pin)


def fault_of(served: Served | None, pin: Pin) -> str:
    """Why a view does not serve its pin, as a sentence without its subject; "" if it does."""
    if served is None or served.broken:
        return "is missing or cannot be read"
    return "" if _serves_pin(served, pin) else "does not serve what was published"


def _serves_pin(served: Served, pin: Pin) -> bool:
    """Whether a served view reads the build, the run and the epochs of a pin."""
    return (served.build, served.run) == (pin.build, pin.run) and (pin.run is None or served.epoch == pin.epoch)


def tables_exist(settings: Settings, publication: Publication) -> bool:
    """Whether every table that the publication names exists in the lake."""
    paths = [table_paths.batch(settings, view, pin.build) for view, pin in publication.pins.items() if pin.build]
    paths += [table_paths.speed(settings, pin.run, view) for view, pin in publication.pins.items() if pin.run]
    return all(delta.exists(path) for path in paths)


def _add_comments(settings: Settings, catalog: Catalog, publication: Publication) -> tuple[Name, ...]:
    """Adds column comments that a crash left out; returns the views that got some."""
    try:
        current = metastore.column_comments(settings, SERVING)
    except metastore.SqlRefused:
        current = {}  # one broken view makes the query fail for all: each view is checked
    commented = []
    for view in publication.pins:
        comments = merge_sql.comments(catalog.views[view]) if view in catalog.views else {}
        if any(current.get(view, {}).get(column) != comment for column, comment in comments.items()):
            commented += [view] if metastore.comment_columns(settings, SERVING, view, comments) else []
    return tuple(commented)


def require_table_not_behind(settings: Settings) -> None:
    """Raises Refused when Trino serves a later publication than the control table has: what is served would go back."""
    served, last = _served_number(settings), last_number(settings)
    if served > last:
        raise Refused(
            f"Trino serves publication {served}, and the last one in the control table is {last}",
            where=table_paths.control(settings, Name("publications")),
            fix="the table was restored from an older copy: restore a newer one, or `lk restore` into a new lake",
        )


def _served_number(settings: Settings) -> int:
    """The number of the publication that ``serving.status`` names; 0 where Trino cannot tell."""
    try:
        rows = metastore.query(settings, f"SELECT max(publication) FROM {SERVING}.{STATUS}").rows  # noqa: S608 - constants
    except metastore.SqlRefused:
        return 0
    return int(rows[0][0] or 0)


def _status_matches(settings: Settings, publication: Publication) -> bool:
    """Compares the publication's number and its count of views: Trino reformats the SQL that it stores."""
    try:
        rows = metastore.query(settings, f"SELECT publication, count(*) FROM {SERVING}.{STATUS} GROUP BY 1").rows  # noqa: S608 - constants
    except metastore.SqlRefused:
        return False
    return list(rows) == [(publication.seq, len(publication.pins))]
