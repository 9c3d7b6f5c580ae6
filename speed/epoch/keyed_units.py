"""Keyed views in an epoch: which units its events touch, and the rows of those units computed from all their events.

A unit's rows are computed from the events that the run keeps of the view, those of the epoch included, so that a retry
computes the same.
Few events go through a prepared plan; many stay in Spark, and so do results that are too large for it. With a reach,
what is far in time is not read; without one, what has other keys (speed/tables/clustering.py).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_events import EVENT, HASH, SOURCE, TIME, inlined, keys_and_times, unpack
from core.compute.keyed_rows import result_rows, rows_of_units, touched_units
from core.compute.segments import reach_width
from core.identifiers import Name
from core.view import Keyed
from infra.control.runs import Run
from infra.lake import data_files, delta, parquet_scan, table_paths
from infra.settings import Settings
from infra.spark.collected_rows import is_too_large
from speed.epoch import kept_events
from speed.epoch.prepared_query import (
    PreparedQuery,
    create_inbox,
    plan_query,
    read_input,
    run_plans,
    write_input,
)

_MOST_HASHES = 1_000  # of an epoch that Spark looks up in the statistics of its input; more are in every file


@dataclass(frozen=True)
class Units:
    """The keyed views of one run, with their plans; a view whose plan cannot run twice has none."""

    spark: SparkSession
    settings: Settings
    catalog: Catalog
    run: Run
    inbox: str
    plans: dict[Name, PreparedQuery]

    def results(self, view: Name, number: int, new: pa.Table | None) -> pa.Table | DataFrame:
        """The rows of every unit that epoch ``number`` touches; ``new`` are its packed events when they are few."""
        definition = self.catalog.view(view)
        assert isinstance(definition, Keyed)
        if new is not None and view in self.plans:
            events = kept_events.few_events(self.settings, self.run.id, definition, number, new)
            if events is not None:
                try:
                    return self._run_prepared(view, definition, number, events)
                except (PySparkException, Py4JError) as e:
                    if not is_too_large(e):  # few events of a key may give very many rows
                        raise
        return self._in_spark(view, definition, number)

    def _run_prepared(self, view: Name, definition: Keyed, number: int, events: pa.Table) -> pa.Table:
        for source in definition.sources:
            of_source = events.filter(pc.equal(events[SOURCE], source))
            write_input(self.inbox, _file(view, source), of_source[EVENT].to_pylist())
        new = events.filter(pc.equal(events["epoch"], number))
        write_input(self.inbox, _file(view), new[EVENT].to_pylist())
        return run_plans(self.spark, [self.plans[view]])[0]

    def _in_spark(self, view: Name, definition: Keyed, number: int) -> DataFrame:
        path = table_paths.events(self.settings, self.run.id, view)
        hashes = _new_hashes(path, number) if definition.reach is None else None
        near = self._near(path, definition, number) if hashes is None else self._of_keys(path, hashes, number)
        new = near.where(fn.col("epoch") == number)
        rows = {s: self._unpacked(definition, near, s) for s in definition.sources}
        units = touched_units(definition, [self._unpacked(definition, new, s) for s in definition.sources])
        return rows_of_units(definition, units, result_rows(definition, rows))

    def _of_keys(self, path: str, hashes: list[int], number: int) -> DataFrame:
        """The events of few keys. Spark skips row groups by a list of values only in a scan of files."""
        opened = delta.table(path)
        holders = data_files.holding(data_files.live_files(opened, HASH), hashes)
        sizes = {file.path: file.size for file, _ in holders}
        kept = parquet_scan.scan_files(self.spark, path, opened.schema().to_json(), sizes)
        return kept.where(f"epoch <= {number} AND {HASH} IN ({', '.join(map(str, hashes)) or 'NULL'})")

    def _near(self, path: str, definition: Keyed, number: int) -> DataFrame:
        """The events of the epoch's keys. With a reach, their files are by epoch, so the times skip most of them."""
        events = self.spark.read.format("delta").load(path).where(fn.col("epoch") <= number)
        new = events.where(fn.col("epoch") == number)
        if definition.reach is not None:
            bounds = new.agg(fn.min(TIME), fn.max(TIME)).first()
            assert bounds is not None
            width = reach_width(definition)
            events = events.where(fn.col(TIME).between(bounds[0] - width, bounds[1] + width))
        return events.join(new.select(HASH).distinct(), HASH, "left_semi")

    def _unpacked(self, view: Keyed, events: DataFrame, source: str) -> DataFrame:
        return unpack(view, self.catalog.topic(source), events.where(fn.col(SOURCE) == source))


def _new_hashes(path: str, number: int) -> list[int] | None:
    """The sorted hashes of the epoch's keys; None when they are many."""
    hashes = set[int]()
    for batch in data_files.batches_holding(path, "epoch", [number], [HASH]):
        hashes.update(pc.unique(batch[HASH]).to_pylist())
        if len(hashes) > _MOST_HASHES:
            return None
    return sorted(hashes)


def plan_units(spark: SparkSession, settings: Settings, catalog: Catalog, run: Run) -> Units:
    """Plans every keyed view of the run once."""
    views = {Name(view): definition for view in run.views if isinstance(definition := catalog.view(view), Keyed)}
    inbox = create_inbox(settings, run)
    with ThreadPoolExecutor() as pool:
        futures = {name: pool.submit(_plan, spark, catalog, inbox, view) for name, view in views.items()}
    plans = {name: plan for name, future in futures.items() if (plan := future.result()) is not None}
    return Units(spark, settings, catalog, run, inbox, plans)


def _plan(spark: SparkSession, catalog: Catalog, inbox: str, view: Keyed) -> PreparedQuery | None:
    name = Name(view.name)
    rows = {
        source: inlined(view, catalog.topic(source), read_input(spark, inbox, _file(name, source)))
        for source in view.sources
    }
    units = touched_units(view, [keys_and_times(view, read_input(spark, inbox, _file(name)))])
    # A full outer join forgets that all of it is in one partition.
    return plan_query(rows_of_units(view, units, result_rows(view, rows).coalesce(1)))


def _file(view: Name, *source: str) -> str:
    return "__".join([view, *source])
