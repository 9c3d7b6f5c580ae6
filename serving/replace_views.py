"""Changes what is served, in steps that can be finished or undone after a crash.

Intent row (with every text) -> views, one by one -> serving.status -> done row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from core.catalog import Catalog
from core.compute import merge_sql
from core.identifiers import Name, joined
from infra import faults
from infra.control.publications import Pin, Publication, add_publication, read_publications
from infra.lake import delta, table_paths
from infra.lake.leases import Lease
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.trino import metastore, served_views
from infra.trino.served_views import PINNED, SERVING, STATUS, Served
from serving import view_sql

_CONTROL = ("runs", "endings", "claims", "builds", "quality", "comparisons", "publications", "leases")


def change(
    settings: Settings,
    catalog: Catalog,
    lease: Lease,
    kind: str,
    pins: Mapping[Name, Pin],
    *,
    why: str,
    who: str | None,
    evidence: Mapping[str, Any],
    kept: Mapping[Name, str],
) -> Publication:
    """Makes these pins the served ones. ``kept`` are the texts of views whose pin stays as it is."""
    seq = max((p.seq for p in read_publications(settings)), default=0) + 1
    now = datetime.now(UTC)
    made = {view: view_sql.pinned(catalog.view(view), pin) for view, pin in pins.items() if view not in kept}
    intent = Publication(
        seq=seq,
        kind=kind,
        state="intent",
        at=now,
        who=who or current_user(),
        why=why,
        evidence=json.dumps(evidence, sort_keys=True),
        pins=dict(sorted(pins.items())),
        texts={**kept, **made, STATUS: view_sql.status_sql(pins, seq, now)},
    )
    register(settings, intent)
    faults.reach("serving.0_before_intent")
    add_publication(settings, lease, intent)
    faults.reach("serving.1_after_intent")
    return finish(settings, catalog, lease, intent)


def finish(settings: Settings, catalog: Catalog, lease: Lease, intent: Publication) -> Publication:
    """Replaces the views that differ, then serving.status, then writes the done row."""
    _put_views(settings, catalog, lease, intent)
    lease.check()
    _put_status(settings, intent)
    faults.reach("serving.3_before_done")
    lease.check()
    done = replace(intent, state="done", at=datetime.now(UTC))
    add_publication(settings, lease, done)
    faults.reach("serving.4_after_done")
    return done


def put(settings: Settings, catalog: Catalog, lease: Lease, publication: Publication) -> tuple[Name, ...]:
    """Makes the views and serving.status say what the publication says; returns the views that were touched."""
    touched = _put_views(settings, catalog, lease, publication)
    lease.check()
    if not _status_is(settings, publication):
        _put_status(settings, publication)
        touched.append(STATUS)
    return (*touched, *(view for view in _comment_all(settings, catalog, publication) if view not in touched))


def _put_views(settings: Settings, catalog: Catalog, lease: Lease, publication: Publication) -> list[Name]:
    touched = []
    now = served_views.read_served(settings, publication.pins)
    for view, pin in publication.pins.items():
        lease.check()
        if put_view(settings, catalog, view, now.get(view), pin, publication.texts[view]):
            touched.append(view)
            faults.reach("serving.2_between_views")
    return touched


def _put_status(settings: Settings, publication: Publication) -> None:
    metastore.replace_view(settings, SERVING, STATUS, publication.texts[STATUS], "What every view serves")


def put_view(settings: Settings, catalog: Catalog, view: Name, now: Served | None, pin: Pin, text: str) -> bool:
    """Makes one served view say this text; False when it did."""
    inner = view_sql.inner(view, pin)
    if now and now.inner == inner and same(now, pin):
        return False
    metastore.replace_view(settings, PINNED, inner, text)
    if not now or now.inner != inner:
        said = catalog.views[view].comment if view in catalog.views else ""
        metastore.replace_view(settings, SERVING, view, view_sql.outer(view, pin), said)
        if view in catalog.views:
            metastore.comment_columns(settings, SERVING, view, merge_sql.comments(catalog.views[view]))
    if now and now.inner not in ("", inner):
        metastore.drop_view(settings, PINNED, now.inner)
    return True


def same(now: Served, pin: Pin) -> bool:
    """Whether a view's text pins this."""
    return (now.build, now.run) == (pin.build, pin.run) and (pin.run is None or now.epoch == pin.epoch)


def register(settings: Settings, publication: Publication) -> None:
    """Makes every table that the publication names and the control tables known to Trino."""
    wanted: dict[tuple[str, str], str] = {}
    for view, pin in publication.pins.items():
        if pin.build:
            wanted["batch", joined(view, pin.build)] = table_paths.batch(settings, view, pin.build)
        if pin.run:
            wanted["speed", joined(view, pin.run)] = table_paths.speed(settings, pin.run, view)
    for table in _CONTROL:
        path = table_paths.control(settings, Name(table))
        if delta.exists(path):
            wanted["control", table] = path
    _register(settings, wanted)


def _register(settings: Settings, wanted: Mapping[tuple[str, str], str]) -> None:
    """A name stands for one path here, so a name that is known needs nothing."""
    try:
        known = metastore.tables(settings, *sorted({schema for schema, _ in wanted}))
    except metastore.BrokenView:
        known = frozenset()
    for (schema, table), path in wanted.items():
        if (schema, table) not in known:
            metastore.register(settings, schema, table, table_paths.relative(settings, path))


def register_pair(settings: Settings, view: Name, build: Name, run: Name) -> None:
    """Makes one view's tables of a build and of a run known to Trino."""
    tables = {("batch", joined(view, build)): table_paths.batch(settings, view, build)}
    _register(settings, {**tables, ("speed", joined(view, run)): table_paths.speed(settings, run, view)})


def register_archives(settings: Settings, decoders: Mapping[Name, Name]) -> None:
    """Makes the archives of these decoders known to Trino as archive.<topic>."""
    for topic, decoder in decoders.items():
        path = table_paths.archive(settings, topic, decoder)
        if delta.exists(path):
            metastore.register(settings, "archive", topic, table_paths.relative(settings, path))


def tables_exist(settings: Settings, publication: Publication) -> bool:
    """Whether everything that the publication names is in the lake."""
    paths = [table_paths.batch(settings, view, pin.build) for view, pin in publication.pins.items() if pin.build]
    paths += [table_paths.speed(settings, pin.run, view) for view, pin in publication.pins.items() if pin.run]
    return all(delta.exists(path) for path in paths)


def _comment_all(settings: Settings, catalog: Catalog, publication: Publication) -> tuple[Name, ...]:
    """Gives comments to columns that lack them, as a crash between a view and its comments leaves it."""
    try:
        now = metastore.column_comments(settings, SERVING)
    except metastore.SqlRefused:
        now = {}  # an entry that is broken hides the others: each view is asked
    touched = []
    for view in publication.pins:
        comments = merge_sql.comments(catalog.views[view]) if view in catalog.views else {}
        if any(now.get(view, {}).get(column) != text for column, text in comments.items()):
            touched += [view] if metastore.comment_columns(settings, SERVING, view, comments) else []
    return tuple(touched)


def _status_is(settings: Settings, publication: Publication) -> bool:
    """The stored text is Trino's formatting of ours, so it is compared by what only this publication has."""
    try:
        rows = metastore.query(settings, f"SELECT publication, count(*) FROM {SERVING}.{STATUS} GROUP BY 1").rows  # noqa: S608 - constants
    except metastore.SqlRefused:
        return False
    return list(rows) == [(publication.seq, len(publication.pins))]
