"""Lambda against batch: what is served, build and partials together, compared with a full build at the same offsets."""

from __future__ import annotations

from batch.build import build
from batch.claim import claim_anew
from batch.land import land
from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows.batch_cycle import batch_session
from infra.control import runs
from infra.control.comparisons import Comparison
from infra.control.publications import Pin
from infra.settings import Settings
from serving import recover
from serving.compare import compare_served as compare


def verify_served(settings: Settings, catalog: Catalog) -> tuple[Comparison, ...]:
    """Builds every view in full at the end of the newest epoch of its run that serves, and compares what is served.

    The build is one like any other, but not published; `lk cleanup` frees it once there is a newer one.
    """
    recover.repair(settings, catalog)
    pins = _served(settings, catalog)
    serving = {pin.run for pin in pins.values() if pin.run}
    if not serving:
        raise Refused(
            "no view serves partials of a run as it is defined now",
            where="control.publications",
            fix="start one: `lk speed start`; a build that is served alone is its own result",
        )
    found: list[Comparison] = []
    with batch_session(settings) as spark:
        for run in [run.id for run in runs.read_runs(settings) if run.id in serving]:
            mine = {view: pin for view, pin in pins.items() if pin.run == run}
            claimed = claim_anew(settings, catalog, run)
            land(spark, settings, catalog, claimed.cut)
            build(spark, settings, catalog, claimed, views=list(mine))
            found += compare(spark, settings, catalog, claimed, mine)
    return tuple(found)


def _served(settings: Settings, catalog: Catalog) -> dict[Name, Pin]:
    """What views serve that a build can give, and that are served as they are defined now."""
    last = recover.last_done(settings)
    found = last.pins if last else {}
    known = catalog.reproducible
    return {view: pin for view, pin in found.items() if view in known and pin.digest == catalog.digest(view)}
