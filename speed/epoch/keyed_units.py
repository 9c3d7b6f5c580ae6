"""Keyed views in an epoch: which units its events touch, and the rows of those units computed from all their events.

Both read the events that the run keeps of the view, those of the epoch included, so that a retry computes the same.
Few events go through a prepared plan; many stay in Spark.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_events import EVENT, HASH, SOURCE, TIME, inlined, timed, unpack
from core.compute.keyed_rows import events_of_units, result_rows, touched_units
from core.identifiers import Name
from core.view import Keyed
from infra.control.runs import Run
from infra.lake import delta, table_paths
from infra.settings import Settings
from speed.epoch.cached_plan import (
    MAX_INPUT_BYTES,
    CachedPlan,
    create_inbox,
    plan_query,
    read_input,
    run_plans,
    write_input,
)


@dataclass(frozen=True)
class Units:
    """The keyed views of one run, with their plans; a view whose plan cannot run twice has none."""

    spark: SparkSession
    settings: Settings
    catalog: Catalog
    run: Run
    inbox: str
    plans: dict[Name, CachedPlan]

    def results(self, view: Name, number: int, new: pa.Table | None) -> pa.Table | DataFrame:
        """The rows of every unit that epoch ``number`` touches; ``new`` are its packed events when they are few."""
        definition = self.catalog.view(view)
        assert isinstance(definition, Keyed)
        if new is not None and view in self.plans:
            events = self._few_events(view, definition, number, new)
            if events is not None:
                return self._run_prepared(view, definition, number, events)
        return self._in_spark(view, definition, number)

    def _few_events(self, view: Name, definition: Keyed, number: int, new: pa.Table) -> pa.Table | None:
        """Events of the same keys within reach of the epoch's units; events of other keys with the same hash too.

        None when they are too many to pass through this process; then not all of them are read.
        """
        condition = pc.field(HASH).isin(pc.unique(new[HASH]))
        reach = definition.reach
        if reach is not None:
            width = reach.before + reach.after + reach.segment
            first, last = (pc.min_max(new[TIME]).as_py()[end] for end in ("min", "max"))
            condition &= (pc.field(TIME) >= first - width) & (pc.field(TIME) <= last + width)
        condition &= pc.field("epoch") <= number
        path = table_paths.events(self.settings, self.run.id, view)
        batches: list[pa.RecordBatch] = []
        for batch in delta.batches(path, [SOURCE, HASH, EVENT, "epoch"], condition):
            batches.append(batch)
            if sum(read.nbytes for read in batches) > MAX_INPUT_BYTES:
                return None
        return pa.Table.from_batches(batches, batches[0].schema) if batches else None

    def _run_prepared(self, view: Name, definition: Keyed, number: int, events: pa.Table) -> pa.Table:
        for source in definition.sources:
            of_source = events.filter(pc.equal(events[SOURCE], source))
            write_input(self.inbox, _file(view, source), of_source[EVENT].to_pylist())
        new = events.filter(pc.equal(events["epoch"], number))
        write_input(self.inbox, _file(view), new[EVENT].to_pylist())
        return run_plans(self.spark, [self.plans[view]])[0]

    def _in_spark(self, view: Name, definition: Keyed, number: int) -> DataFrame:
        """Kept events lie in files by epoch, so near in time to each other: the conditions skip most files."""
        kept = self.spark.read.format("delta").load(table_paths.events(self.settings, self.run.id, view))
        events = kept.where(fn.col("epoch") <= number)
        new = events.where(fn.col("epoch") == number)
        reach = definition.reach
        if reach is not None:
            bounds = new.agg(fn.min(TIME), fn.max(TIME)).first()
            assert bounds is not None
            width = reach.before + reach.after + reach.segment
            events = events.where(fn.col(TIME).between(bounds[0] - width, bounds[1] + width))
        near = events.join(new.select(HASH).distinct(), HASH, "left_semi")
        rows = {s: self._unpacked(definition, near, s) for s in definition.sources}
        units = touched_units(definition, [self._unpacked(definition, new, s) for s in definition.sources])
        return events_of_units(definition, units, result_rows(definition, rows))

    def _unpacked(self, view: Keyed, events: DataFrame, source: str) -> DataFrame:
        return unpack(view, self.catalog.topic(source), events.where(fn.col(SOURCE) == source))


def plan_units(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run) -> Units:
    """Plans every keyed view of the run once."""
    views = {Name(view): definition for view in run.views if isinstance(definition := catalog.view(view), Keyed)}
    inbox = create_inbox(settings, run)
    with ThreadPoolExecutor() as pool:
        futures = {name: pool.submit(_plan, spark, catalog, inbox, view) for name, view in views.items()}
    plans = {name: plan for name, future in futures.items() if (plan := future.result()) is not None}
    return Units(spark, settings, catalog, run, inbox, plans)


def _plan(spark: SparkSession, catalog: Catalog, inbox: str, view: Keyed) -> CachedPlan | None:
    name = Name(view.name)
    rows = {
        source: inlined(view, catalog.topic(source), read_input(spark, inbox, _file(name, source)))
        for source in view.sources
    }
    units = touched_units(view, [timed(view, read_input(spark, inbox, _file(name)))])
    # A full outer join forgets that all of it is in one partition.
    return plan_query(events_of_units(view, units, result_rows(view, rows).coalesce(1)))


def _file(view: Name, *source: str) -> str:
    return "__".join([view, *source])
