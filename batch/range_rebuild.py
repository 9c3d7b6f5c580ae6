"""A range rebuild: windows that start in a range are computed again from the archive, every other row is copied.

It is claimed at the very cut, run and epoch of the served build, so that the partials which are served fit it as they
fit that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.compare_rows import differences, different
from core.compute.range_rows import in_range, starts_around
from core.errors import Refused
from core.identifiers import Name
from core.range_rebuild import RangeRebuild
from core.validation.definition_change import definition_refusal
from core.view import Rollup, Window
from infra import faults
from infra.control import locks
from infra.control.builds import build_name, build_number
from infra.control.claims import Claim, add_claim, read_claims
from infra.control.publications import Pin
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
    """Claims the cut that some views serve once more, for windows that start in a range.

    The same range of the same served builds gives the claim that there is. No fold can have crossed its epoch, which is
    pinned already. Raises Refused, with nothing changed, where the range or a view cannot be built so.
    """
    for view in views:
        _check_range(view, _window(catalog, view), start, end)
    pin = _pin(catalog, pins, views)
    with locks.hold(settings, "control") as lease:
        claims = read_claims(settings)
        wanted = Claim(
            build=build_name(max((build_number(c.build) for c in claims), default=0) + 1),
            run=pin.run,
            epoch=pin.epoch,
            cut=pin.cut,
            at=datetime.now(UTC),
            who=current_user(),
            views={view: catalog.digest(view) for view in sorted(views)},
            decoders={topic: catalog.decoder(topic) for topic in catalog.sources(views)},
            rebuild=RangeRebuild(start, end, {view: _build(pins[view]) for view in sorted(views)}),
        )
        known = next((c for c in claims if replace(wanted, build=c.build, at=c.at, who=c.who) == c), None)
        if known is None:
            add_claim(settings, lease, wanted)
            faults.reach("batch.0_after_claim")
    return known or wanted


def base_rows(spark: SparkSession, settings: Settings, view: Rollup, rebuild: RangeRebuild) -> DataFrame:
    """The table that a range rebuild copies from. Raises Refused when it is not there any more."""
    name = Name(view.name)
    path = table_paths.batch(settings, name, rebuild.bases[name])
    return parquet_scan.read_table(spark, path)


def require_same_outside(view: Rollup, rebuild: RangeRebuild, base: DataFrame, written: DataFrame) -> str:
    """What a range rebuild changed, in words. Raises Refused when any row outside of the range is not as it was."""
    assert view.window is not None
    found = differences(view, base, written).persist()
    within, source = in_range(view.window, rebuild), rebuild.bases[Name(view.name)]
    try:
        counts = {"wrong": ~within & different(), "kept": ~within, "changed": within & different(), "again": within}
        row: Any = found.agg(*(fn.count_if(which).alias(name) for name, which in counts.items())).first()
        if row["wrong"]:
            raise Refused(
                f"a rebuild of {_said(rebuild)} changes {row['wrong']} keys of {view.name} outside of it: "
                + json.dumps(first_differences(view, found.where(~within)))[:300],
                where=f"build {source}, which is served and stays as it is",
                fix="run the command again; `lk batch` computes every window",
            )
    finally:
        found.unpersist()
    return f"{_said(rebuild)} again: {row['changed']} of {row['again']} keys changed; {row['kept']} are as in {source}"


def _window(catalog: Catalog, name: Name) -> Window:
    view = catalog.view(name)
    window = view.window if isinstance(view, Rollup) else None
    if window is None:
        raise _cannot(name, "it has no window of which to take a range")
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


def _pin(catalog: Catalog, pins: Mapping[Name, Pin], views: Sequence[Name]) -> Pin:
    """What the views serve, which must be builds of one cut, made with today's definitions."""
    for view in views:
        if view not in pins or pins[view].build is None:
            raise _cannot(view, "it serves no build")
    others = [f"view {view}" for view in views if pins[view].digest != catalog.digest(view)]
    if others:
        raise definition_refusal(others, "the served build was made", where="control.publications")
    found = [pins[view] for view in views]
    for view, pin in zip(views, found, strict=True):
        if (pin.run, pin.epoch, pin.cut) != (found[0].run, found[0].epoch, found[0].cut):
            raise _cannot(view, f"it serves {pin.build}, of another cut than that of {views[0]}: name them one by one")
    return found[0]


def _build(pin: Pin) -> Name:
    assert pin.build is not None
    return pin.build


def _said(rebuild: RangeRebuild) -> str:
    return f"{_short(rebuild.first)} to {_short(rebuild.end)}"


def _short(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().removesuffix("+00:00")


def _cannot(view: Name, why: str) -> Refused:
    return Refused(
        f"view {view} cannot be built for a range: {why}",
        where="what is served stays as it is",
        fix="name other views, or another range; `lk batch` builds every view in full",
    )
