"""Computes one epoch: record counts, bad records, the partial rows of each rollup, the new events of each keyed view.

A small epoch is one Spark task: it reads the records and runs plans that were made when the run started. Building and
planning a query costs Spark several times what computing a few hundred records does. A big epoch is planned: executors
read its offset range, topic by topic, decode it, cache it, and compute every result from the cache. So is a small epoch
whose results are too large for the driver, or in which two processes have died. Both ways build their queries with the
same functions (topic_results.py), so they compute the same rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import accumulate
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from core.catalog import Catalog
from core.compute.large_records import LARGE_COUNT
from core.compute.partial_rows import totals_of
from core.decoding.decode import decode
from core.errors import NEW_RUN, LkError, Refused
from core.identifiers import Name
from core.view import Keyed, View
from infra.control.runs import Run
from infra.kafka.spark_source import read_spans
from infra.library_errors import first_line, root_cause
from infra.settings import Settings
from infra.spark.collected_rows import is_too_large
from speed.epoch.epoch_results import EpochResults, require_all_offsets, require_same_counts
from speed.epoch.keyed_units import plan_units
from speed.epoch.offset_log import PlannedEpoch
from speed.epoch.prepared_plans import PreparedPlans, is_of_log, prepare
from speed.epoch.prepared_query import MAX_RESULT_BYTES
from speed.epoch.repeated_starts import count_start
from speed.epoch.topic_results import (
    COUNTS,
    LONGEST_TEXT,
    QUARANTINE,
    Rows,
    TopicResult,
    in_window,
    large_bad_records,
    results_of_cached,
    rows_to_cache,
)

SMALL = 25_000  # offsets; up to it (a restart's backlog too) a prepared plan and one task each beat a shuffle
COLLECTED = MAX_RESULT_BYTES  # of a big epoch too, as delta-rs writes what is collected faster than Spark
_TASK_RECORDS = 1_000_000  # each task groups by itself; few enough records to balance partitions of unequal size
_ROW_BYTES = 768  # of a row without its texts, where the counts do not bound its size
_STARTS = 3
_FEW_BAD = 1_000  # none of them large

Item = TypeVar("Item")
Computed = TypeVar("Computed")
Results = list[tuple[TopicResult, Rows]]


class EpochComputer:
    """Computes the epochs of one run in one session."""

    def __init__(self, spark: SparkSession, settings: Settings, catalog: Catalog, run: Run) -> None:
        self.spark = spark
        self.settings = settings
        self.catalog = catalog
        self.run = run
        self.views = {topic: self._views_of(topic) for topic in run.topics}
        self._died_in: int | None = None  # the epoch in which the processes before this one died, -1 for none
        self._pool = ThreadPoolExecutor()  # kept: each of its threads has a thread in Java too
        self.prepared: PreparedPlans | None = prepare(spark, settings, catalog, run, self.views)
        self._units = plan_units(spark, settings, catalog, run)
        self.keyed = [view for view in sorted(run.views) if isinstance(catalog.view(view), Keyed)]
        self.rollups = [view for view in sorted(run.views) if view not in self.keyed]

    @property
    def java_pid(self) -> int | None:
        """The Java process that this process started for Spark, if it did."""
        process = getattr(self.spark.sparkContext._gateway, "proc", None)
        return process.pid if process else None

    @contextlib.contextmanager
    def computed(self, planned: PlannedEpoch) -> Iterator[EpochResults]:
        """The epoch's results, with their counts checked; DataFrames in them are valid inside the block only.

        Raises Refused when a view cannot be computed, or when records and offsets do not add up.
        """
        few = self._run_prepared(self.prepared, planned) if self.prepared and self._is_small(planned) else None
        if few is not None:
            yield self._checked(few, planned)
            return
        with self._read_in_parts(planned) as results:
            yield self._checked(results, planned)

    def units(self, view: Name, events: Sequence[Rows], planned: PlannedEpoch) -> list[Rows]:
        """The rows of every unit of a keyed view that the epoch's ``events`` touch, once the run keeps these events."""
        tables = [rows.table for rows in events if rows.table is not None]
        new_events = pa.concat_tables(tables) if len(tables) == len(events) else None
        try:
            rows = self._units.results(view, planned.number, new_events)
        except (PySparkException, Py4JError) as e:
            raise computation_error(view, self.catalog.view(view).sources, planned, e) from None
        return [Rows(table=rows) if isinstance(rows, pa.Table) else Rows(frame=rows)]

    def _is_small(self, planned: PlannedEpoch) -> bool:
        """Not for the third process that begins with the same epoch: Spark's own plan spills to disk."""
        if self._died_in is None:
            starts = count_start(self.settings, self.run.id, planned.number)
            self._died_in = planned.number if starts >= _STARTS else -1
        return planned.size <= SMALL and planned.number != self._died_in

    def _views_of(self, topic: Name) -> list[View]:
        return [view for view in self.catalog.reading(topic) if view.name in self.run.views]

    def _run_prepared(self, prepared: PreparedPlans, planned: PlannedEpoch) -> Results | None:
        """A small epoch; None when it does not fit into a prepared plan."""
        try:
            results = prepared.run(planned.spans)
        except (PySparkException, Py4JError) as e:
            if is_too_large(e):
                return None
            failing = None if is_of_log(e) else prepared.failing_result(planned.spans)
            if failing is None:
                raise
            raise computation_error(failing.part, [failing.topic], planned, e) from None
        return None if results is None else [(result, Rows(table=table)) for result, table in results]

    @contextlib.contextmanager
    def _read_in_parts(self, planned: PlannedEpoch) -> Iterator[Results]:
        """A big epoch. Each topic is read by itself: selecting one topic from all records reads all of them."""
        topics = sorted({span.topic for span in planned.spans})
        cached: list[DataFrame] = []
        try:
            by_topic = self._in_parallel(lambda topic: self._read_topic(topic, planned, cached), topics)
            yield [result for results in by_topic for result in results]
        finally:
            for frame in cached:
                frame.unpersist()

    def _read_topic(self, name: Name, planned: PlannedEpoch, cached: list[DataFrame]) -> Results:
        """One topic's results. Collecting the counts fills the cache, from which the others are computed later."""
        topic = self.catalog.topic(name)
        spans = [span for span in planned.spans if span.topic == name]
        records = read_spans(self.spark, self.settings, spans, task_records=_TASK_RECORDS, group=self.run.id)
        records = records.coalesce(1) if planned.size <= SMALL else records
        events = decode(topic, records)
        rows = rows_to_cache(topic, self.views[name], events)
        cached.append(rows.persist(StorageLevel.MEMORY_AND_DISK))
        counts, *others = results_of_cached(topic, self.views[name], rows)
        counted = counts.frame.toArrow()
        if pa.compute.sum(counted[LARGE_COUNT]).as_py():
            others.append(large_bad_records(topic, events))
        return [(counts, Rows(table=counted)), *((result, Rows(frame=result.frame)) for result in others)]

    def _checked(self, results: Results, planned: PlannedEpoch) -> EpochResults:
        """The results grouped by the table to write. Raises Refused unless the counts account for every offset."""
        counts = [row for result, rows in results if result.part == COUNTS for row in _row_dicts(rows)]
        require_all_offsets(self.catalog, counts, planned)
        total = totals_of(counts, self.run.views)
        bad = sum(count.quarantined for count in total.partitions.values())
        results = self._collect_small(results, counts, bad)
        quarantine = [rows for result, rows in results if result.part == QUARANTINE] if bad else []
        partials: dict[Name, list[Rows]] = {Name(view): [] for view in self.run.views}
        for result, rows in results:
            if result.part not in (COUNTS, QUARANTINE):
                view = self.catalog.view(result.part)
                partials[Name(result.part)].append(in_window(view, rows, planned.batch_time_ms))
        epoch = EpochResults(total.partitions, total.rows, quarantine, partials)
        require_same_counts(epoch, planned, self.rollups)
        return epoch

    def _collect_small(self, results: Results, counts: Sequence[dict[str, Any]], bad: int) -> Results:
        """The same results; the smallest, COLLECTED bytes together, are collected, each table whole or not at all."""
        frames = [(result, rows) for result, rows in results if rows.frame is not None]
        few_bad = 0 < bad <= _FEW_BAD and not any(row.get(LARGE_COUNT) for row in counts)
        sizes = {r.part: self._max_bytes(r.part, counts) for r, _ in frames if r.part != QUARANTINE}
        smallest_first = sorted(sizes, key=lambda part: sizes[part])
        totals = accumulate(sizes[part] for part in smallest_first)
        collected = {part for part, total in zip(smallest_first, totals, strict=True) if total <= COLLECTED}
        collected |= {QUARANTINE} if few_bad else set()
        small = [result for result, _ in frames if result.part in collected]
        others = [(result, rows) for result, rows in results if rows.frame is None or result.part not in collected]
        tables = self._in_parallel(lambda result: result.frame.toArrow(), small)
        return others + [(result, Rows(table=table)) for result, table in zip(small, tables, strict=True)]

    def _max_bytes(self, view: Name | str, counts: Sequence[dict[str, Any]]) -> int:
        """An upper bound of the size of a view's partial rows: from the counts, else from how many rows they group."""
        columns = len(self.catalog.view(view).stored_columns)
        return sum(
            row.get(f"bytes_{view}", row.get(f"rows_{view}", 0) * (_ROW_BYTES + columns * row.get(LONGEST_TEXT, 0)))
            for row in counts
        )

    def _in_parallel(self, compute: Callable[[Item], Computed], items: Sequence[Item]) -> list[Computed]:
        """Runs one Spark job per item at once, so that cores which one job leaves idle work on another.

        The jobs belong to the caller's query, and end when it is stopped.
        """
        jobs = [self._pool.submit(inheritable_thread_target(self.spark)(compute), item) for item in items]
        wait(jobs)
        return [job.result() for job in jobs]


def computation_error(part: str, topics: Sequence[str], planned: PlannedEpoch, reason: BaseException) -> LkError:
    """Names the view that stops its run, where, and Spark's reason."""
    what = f"view {part} cannot be computed" if not part.startswith("_") else "records cannot be decoded"
    return Refused(
        f"{what}: {first_line(root_cause(reason))}",
        where=f"topic {', '.join(topics)}, epoch {planned.number}, offsets {planned.start} to {planned.end}",
        fix=f"correct the definition, then {NEW_RUN}",
    )


def _row_dicts(rows: Rows) -> list[dict[str, Any]]:
    assert rows.table is not None
    dicts: list[dict[str, Any]] = rows.table.to_pylist()
    return dicts
