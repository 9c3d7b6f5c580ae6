"""`lk compare --served`: what is served compared with a full build at the same offsets."""

from __future__ import annotations

from batch.build import build
from batch.claim import claim_new_build
from batch.land import land
from core.catalog import Catalog
from core.errors import Refused
from core.identifiers import Name
from flows.batch_cycle import batch_session
from infra.control import runs
from infra.control.comparisons import Comparison
from infra.control.pins import Pin
from infra.control.publications import last_done
from infra.kafka import kafka_admin
from infra.settings import Settings
from serving import recover
from serving.compare import compare_served


def compare_served_views(settings: Settings, catalog: Catalog) -> tuple[Comparison, ...]:
    """Builds every view in full at the end of the last epoch of its serving run, and compares it with what is served.

    What is served is merged from a build and partial rows. The new build is not published; `lk cleanup` deletes it once
    there is a newer one.
    """
    recover.recover_views(settings, catalog)
    pins = _served(settings, catalog)
    serving = {pin.run for pin in pins.values() if pin.run}
    if not serving:
        raise Refused(
            "no view serves partial rows of a run with today's definition",
            where="control.publications",
            fix="start a run: `lk speed start`; a build that is served alone needs no comparison",
        )
    comparisons: list[Comparison] = []
    serving_runs = [run for run in runs.read_runs(settings) if run.id in serving]
    topics = {topic for run in serving_runs for topic in run.topics}
    with batch_session(settings, kafka_admin.end_offsets(settings, topics)) as spark:
        for run in serving_runs:
            run_pins = {view: pin for view, pin in pins.items() if pin.run == run.id}
            claimed = claim_new_build(settings, catalog, run.id)
            land(spark, settings, catalog, claimed.cut, claimed.run)
            build(spark, settings, catalog, claimed, views=list(run_pins))
            comparisons += compare_served(spark, settings, catalog, claimed, run_pins)
    return tuple(comparisons)


def _served(settings: Settings, catalog: Catalog) -> dict[Name, Pin]:
    """The pins of views that a build can reproduce and that are served with today's definition."""
    last = last_done(settings)
    pins = last.pins if last else {}
    views = catalog.reproducible
    return {view: pin for view, pin in pins.items() if view in views and pin.digest == catalog.digest(view)}
