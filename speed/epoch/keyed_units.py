"""Keyed views in an epoch: which units its events reach, and what all events of those units give.

Both read what the run keeps of the view's events, those of the epoch included, so that a retry computes the same.
Few rows pass through a query that was planned once; many stay in Spark.
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
from speed.epoch.cached_plan import LARGEST, CachedPlan, collected, content, inbox_of, planned, write


@dataclass(frozen=True)
class Units:
    """The keyed views of one run, with their plans; a view whose plan cannot be used twice has none."""

    spark: SparkSession
    settings: Settings
    catalog: Catalog
    run: Run
    inbox: str
    plans: dict[Name, CachedPlan]

    def results(self, view: Name, number: int, new: pa.Table | None) -> pa.Table | DataFrame:
        """The rows of every unit that epoch ``number`` reaches; ``new`` are its packed events when they are few."""
        definition = self.catalog.view(view)
        assert isinstance(definition, Keyed)
        if new is not None and view in self.plans:
            events = self._near(view, definition, number, new)
            if events.nbytes <= LARGEST:
                return self._at_once(view, definition, number, events)
        return self._in_spark(view, definition, number)

    def _near(self, view: Name, definition: Keyed, number: int, new: pa.Table) -> pa.Table:
        """Events of the same keys that the epoch's units may need; of other keys with the same hash too."""
        near = pc.field(HASH).isin(pc.unique(new[HASH]))
        reach = definition.reach
        if reach is not None:
            width = reach.before + reach.after + reach.segment
            first, last = (pc.min_max(new[TIME]).as_py()[end] for end in ("min", "max"))
            near &= (pc.field(TIME) >= first - width) & (pc.field(TIME) <= last + width)
        near &= pc.field("epoch") <= number
        return delta.read(table_paths.events(self.settings, self.run.id, view), [SOURCE, HASH, EVENT, "epoch"], near)

    def _at_once(self, view: Name, definition: Keyed, number: int, events: pa.Table) -> pa.Table:
        for source in definition.sources:
            mine = events.filter(pc.equal(events[SOURCE], source))
            write(self.inbox, _file(view, source), mine[EVENT].to_pylist())
        new = events.filter(pc.equal(events["epoch"], number))
        write(self.inbox, _file(view), new[EVENT].to_pylist())
        return collected(self.spark, [self.plans[view]])[0]

    def _in_spark(self, view: Name, definition: Keyed, number: int) -> DataFrame:
        """Events are kept in the order of their epochs, near in time to each other: of most files none is read."""
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
        rows = {s: self._of(definition, near, s) for s in definition.sources}
        units = touched_units(definition, [self._of(definition, new, s) for s in definition.sources])
        return events_of_units(definition, units, result_rows(definition, rows))

    def _of(self, view: Keyed, events: DataFrame, source: str) -> DataFrame:
        return unpack(view, self.catalog.topic(source), events.where(fn.col(SOURCE) == source))


def plan_units(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run) -> Units:
    """Plans every keyed view of the run once."""
    views = {Name(view): found for view in run.views if isinstance(found := catalog.view(view), Keyed)}
    inbox = inbox_of(settings, run)
    with ThreadPoolExecutor() as pool:
        coming = {name: pool.submit(_plan, spark, catalog, inbox, view) for name, view in views.items()}
    plans = {name: made for name, future in coming.items() if (made := future.result()) is not None}
    return Units(spark, settings, catalog, run, inbox, plans)


def _plan(spark: SparkSession, catalog: Catalog, inbox: str, view: Keyed) -> CachedPlan | None:
    name = Name(view.name)
    rows = {
        source: inlined(view, catalog.topic(source), content(spark, inbox, _file(name, source)))
        for source in view.sources
    }
    units = touched_units(view, [timed(view, content(spark, inbox, _file(name)))])
    # A full outer join forgets that all of it is in one partition.
    return planned(events_of_units(view, units, result_rows(view, rows).coalesce(1)))


def _file(view: Name, *source: str) -> str:
    return "__".join([view, *source])
