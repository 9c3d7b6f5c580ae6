"""The builds of a view that hold the record, and their rows of its keys and windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from core.catalog import Catalog
from core.identifiers import Name
from core.positions import RecordPosition
from core.view import Keyed, Rollup
from flows.trace.cells import MOST_ROWS, guarded, row_of
from flows.trace.stage_texts import HOLDS_EARLIER_TOPIC
from flows.trace.stages import ViewBuild
from flows.trace.table_rows import absent, at_places, first_rows, place_columns
from infra.control import builds
from infra.control.builds import Built, build_number
from infra.lake import table_paths
from infra.settings import Settings

_NEWEST = 5  # builds of a view that are listed, beside the served one


def kept_builds(settings: Settings, view: Name, served: Name | None) -> list[Built]:
    """The served build and the newest others of a view that were not refused or deleted, newest first."""
    names = {build for of_view, build in builds.verdicts(settings) if of_view == view}
    newest = sorted(names, key=build_number, reverse=True)[:_NEWEST]
    chosen = {*newest, *([served] if served in names else [])}
    rows = [row for row in builds.read_builds(settings, chosen) if row.view == view]
    return sorted(rows, key=lambda row: build_number(row.build), reverse=True)


def read_build(
    settings: Settings,
    catalog: Catalog,
    built: Built,
    position: RecordPosition,
    served: Name | None,
    places: pa.Table | None,
) -> ViewBuild:
    """The record in one build; its rows are read when ``places``, the record's keys and windows, are known."""
    topic, partition, offset = position
    end = built.cut.end(topic, partition)
    table = table_paths.batch(settings, built.view, built.build)
    view_build = ViewBuild(built.build, built.build == served, end, offset < end, table)
    if not view_build.holds:
        return replace(view_build, note=f"its cut is at offset {end}")
    if built.digest != catalog.digest(built.view):
        return replace(view_build, note="it was built by an earlier definition, so that its rows are not looked up")
    if places is None or not places.num_rows:
        return view_build
    return guarded(
        partial(_with_rows, catalog, view_build, built.view, places), lambda why: replace(view_build, problem=why)
    )


def read_builds(
    settings: Settings,
    catalog: Catalog,
    view: Name,
    position: RecordPosition,
    served: Name | None,
    places: pa.Table | None,
) -> tuple[ViewBuild, ...]:
    """The record in the served build and in the newest others; rows only of the served one and of newer ones."""
    kept: Sequence[Built] = kept_builds(settings, view, served)
    oldest = build_number(served) if served else -1
    return tuple(
        read_build(settings, catalog, built, position, served, places if build_number(built.build) >= oldest else None)
        for built in kept
    )


def without_other_topic(view_builds: Sequence[ViewBuild], served: Name | None) -> tuple[ViewBuild, ...]:
    """The builds, of which those up to the served one hold an earlier topic of this name, and not the record."""
    last = build_number(served) if served else -1
    return tuple(
        replace(build, holds=False, note=HOLDS_EARLIER_TOPIC) if build_number(build.build) <= last else build
        for build in view_builds
    )


def _with_rows(catalog: Catalog, view_build: ViewBuild, name: Name, places: pa.Table) -> ViewBuild:
    view = catalog.view(name)
    names = [column.name for column in view.stored_columns]
    condition = at_places(place_columns(view), places)
    rows = tuple(map(row_of, first_rows(view_build.table, names, condition, MOST_ROWS)))
    if isinstance(view, Keyed):  # a build has no row for a unit without rows
        return replace(view_build, rows=rows)
    assert isinstance(view, Rollup)
    expected = [row_of(row) for row in places.to_pylist()]
    missing = absent(expected, [{name: row[name] for name in places.column_names} for row in rows])
    return replace(view_build, rows=rows, missing=tuple(f"the row of {row}" for row in missing))
