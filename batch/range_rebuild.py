"""A range rebuild computes windows that start in a range again from the archive, and copies every other row.

It is claimed at the cut, run and epoch of the served build, so the served partial rows add to it without change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.compare_rows import differences, different
from core.compute.range_rows import starts_around, starts_in_range
from core.errors import SERVED_STAYS, Refused
from core.identifiers import Name
from core.range_rebuild import RangeRebuild
from core.validation.definition_change import definition_refusal
from core.view import Rollup, Window
from infra import faults
from infra.control import locks
from infra.control.claims import Claim, add_claim, next_build, read_claims
from infra.control.pins import Pin
from infra.lake import parquet_scan, table_paths
from infra.lake.process_identity import current_user
from infra.settings import Settings
from infra.spark.count_differences import first_differences

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def claim_range(
    settings: Settings,
    catalog: Catalog,
    pins: Mapping[Name, Pin],
    views: Sequence[Name],
    start: datetime,
    end: datetime,
) -> Claim:
    """Claims the served cut of some views again, for windows that start in a range.

    Returns the existing claim for the same range of the same builds. No fold can have crossed its epoch, which is
    pinned. Raises Refused, with nothing changed, when the range or a view cannot be rebuilt.
    """
    for view in views:
        _check_range(view, _window(catalog, view), start, end)
    pin = _common_pin(catalog, pins, views)
    with locks.hold(settings, "control") as lease:
        claims = read_claims(settings)
        new = Claim(
            build=next_build(settings),
            run=pin.run,
            epoch=pin.epoch,
            cut=pin.cut,
            at=datetime.now(UTC),
            who=current_user(),
            views={view: catalog.digest(view) for view in sorted(views)},
            decoders={topic: catalog.decoder(topic) for topic in catalog.sources(views)},
            rebuild=RangeRebuild(start, end, {view: _build(pins[view]) for view in sorted(views)}),
        )
        existing = next((c for c in claims if replace(new, build=c.build, at=c.at, who=c.who) == c), None)
        if existing is None:
            add_claim(settings, lease, new)
            faults.at("batch.0_after_claim")
    return existing or new


def base_rows(spark: SparkSession, settings: Settings, view: Rollup, rebuild: RangeRebuild) -> DataFrame:
    """The table that a range rebuild copies from. Raises Refused when it was deleted."""
    name = Name(view.name)
    path = table_paths.batch(settings, name, rebuild.bases[name])
    return parquet_scan.read_table(spark, path)


def require_same_outside(view: Rollup, rebuild: RangeRebuild, base: DataFrame, written: DataFrame) -> str:
    """A sentence on what a range rebuild changed. Raises Refused when a row outside the range changed."""
    assert view.window is not None
    compared = differences(view, base, written).persist()
    within, source = starts_in_range(view.window, rebuild), rebuild.bases[Name(view.name)]
    try:
        counts = {"wrong": ~within & different(), "kept": ~within, "changed": within & different(), "again": within}
        row: Any = compared.agg(*(fn.count_if(which).alias(name) for name, which in counts.items())).first()
        if row["wrong"]:
            raise Refused(
                f"a rebuild of {_range_text(rebuild)} changes {row['wrong']} keys of {view.name} outside that range: "
                + str(first_differences(view, compared.where(~within))[0])[:300],
                where=f"build {source}, which is served and stays as it is",
                fix="run the command again; `lk batch` computes every window",
            )
    finally:
        compared.unpersist()
    changed = f"{row['changed']} of {row['again']} keys changed"
    return f"{_range_text(rebuild)} again: {changed}; {row['kept']} are as in {source}"


def _window(catalog: Catalog, name: Name) -> Window:
    view = catalog.view(name)
    window = view.window if isinstance(view, Rollup) else None
    if window is None:
        raise _cannot(name, "it has no windows")
    if not window.by_event_time:
        raise _cannot(name, f"its windows are over {window.over}, not over event time")
    return window


def _check_range(view: Name, window: Window, start: datetime, end: datetime) -> None:
    if start >= end:
        raise _cannot(view, f"the range is empty: {_short(start)} to {_short(end)}")
    for bound in (start, end):
        below, above = starts_around(window, bound)
        if below != above:
            near = f"{_short(below)} and {_short(above)} are"
            raise _cannot(view, f"none of its windows starts at {_short(bound)}; {near} starts of windows")


def _common_pin(catalog: Catalog, pins: Mapping[Name, Pin], views: Sequence[Name]) -> Pin:
    """The pin of the views, which must serve builds of one cut, computed with the current definitions."""
    for view in views:
        if view not in pins or pins[view].build is None:
            raise _cannot(view, "it serves no build")
    changed = [f"view {view}" for view in views if pins[view].digest != catalog.digest(view)]
    if changed:
        raise definition_refusal(changed, "the served build was created", where="control.publications")
    view_pins = [pins[view] for view in views]
    for view, pin in zip(views, view_pins, strict=True):
        if (pin.run, pin.epoch, pin.cut) != (view_pins[0].run, view_pins[0].epoch, view_pins[0].cut):
            raise _cannot(view, f"it serves {pin.build}, whose cut is not that of {views[0]}: rebuild them one by one")
    return view_pins[0]


def _build(pin: Pin) -> Name:
    assert pin.build is not None
    return pin.build


def _range_text(rebuild: RangeRebuild) -> str:
    return f"{_short(rebuild.first)} to {_short(rebuild.end)}"


def _short(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().replace("+00:00", " UTC")


def _cannot(view: Name, why: str) -> Refused:
    return Refused(
        f"the view cannot be built for a range: {why}; {SERVED_STAYS}",
        where=f"view {view}",
        fix="name other views, or another range; `lk batch` builds every view in full",
    )
