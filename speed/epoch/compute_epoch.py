"""What one epoch adds: counted and bad records, a partial per rollup, events of keyed views and what their units give.

All of it as Arrow or as DataFrames, by its size.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from core.catalog import Catalog
from core.cut import Span
from core.decoding.decode import decode
from core.errors import LkError, Refused
from core.identifiers import Name
from core.record_counts import RecordCounts
from core.view import ROWS, Keyed, View
from infra.control.runs import Run
from infra.kafka.spark_source import read_spans
from infra.settings import Settings
from speed.epoch.keyed_units import plan_units
from speed.epoch.offset_log import PlannedEpoch
from speed.epoch.prepared_plans import Prepared, prepare
from speed.epoch.result_rows import Rows, in_window
from speed.epoch.topic_results import LEDGER, QUARANTINE, TopicResults, branches_of, held

SMALL = 25_000  # offsets; up to it, a restart's backlog too, plans made once and one task each beat a shuffle
COLLECTED = 192 * 1024 * 1024  # bytes; a partial up to it is collected, and delta-rs writes it in less time than Spark
_TASK_RECORDS = 1_000_000  # each task groups anew; still few enough for partitions of unequal size
_ROW = 768  # bytes of a row, where nothing better is known
_FEW_BAD = 1_000

One = TypeVar("One")
Result = TypeVar("Result")


@dataclass(frozen=True)
class EpochResults:
    """The whole of an epoch, nothing of it written yet; ``partials`` of a keyed view are its new events, packed."""

    counted: dict[str, RecordCounts]
    view_rows: dict[Name, int]
    quarantine: list[Rows]
    partials: dict[Name, list[Rows]]


class EpochComputer:
    """Computes the epochs of one run in one session."""

    def __init__(self, spark: SparkSession, settings: Settings, catalog: Catalog, run: Run) -> None:
        self.spark = spark
        self.settings = settings
        self.catalog = catalog
        self.run = run
        self.views = {topic: self._reading(topic) for topic in run.topics}
        self._pool = ThreadPoolExecutor()  # kept: each of its threads has a thread in Java too
        self.prepared: Prepared | None = prepare(spark, settings, catalog, run, self.views)
        self._units = plan_units(spark, settings, catalog, run)
        self.keyed = [view for view in sorted(run.views) if isinstance(catalog.view(view), Keyed)]
        self.rollups = [view for view in sorted(run.views) if view not in self.keyed]

    @contextlib.contextmanager
    def computed(self, records: DataFrame, planned: PlannedEpoch) -> Iterator[EpochResults]:
        """The epoch's results, with the ledger checked; frames are of use only inside the block."""
        topics = sorted({span.topic for span in planned.spans})
        if planned.size <= SMALL and self.prepared and self.prepared.put(records, topics):
            yield self._checked(self._at_once(self.prepared, topics, planned), planned)
            return
        with self._planned_anew(topics, planned) as parts:
            yield self._checked(parts, planned)

    def units(self, view: Name, parts: Sequence[Rows], planned: PlannedEpoch) -> list[Rows]:
        """What the units that an epoch reaches give, once its events are kept; errors as for any view."""
        collected = [part.rows for part in parts if part.rows is not None]
        new = pa.concat_tables(collected) if len(collected) == len(parts) else None
        try:
            found = self._units.results(view, planned.number, new)
        except (PySparkException, Py4JError) as e:
            raise cannot(view, self.catalog.view(view).sources, planned, e) from None
        return [Rows(rows=found) if isinstance(found, pa.Table) else Rows(frame=found)]

    def _reading(self, topic: Name) -> list[View]:
        return [view for view in self.catalog.reading(topic) if view.name in self.run.views]

    def _at_once(
        self, prepared: Prepared, topics: Sequence[Name], planned: PlannedEpoch
    ) -> list[tuple[TopicResults, Rows]]:
        try:
            return [(branch, Rows(rows=rows)) for branch, rows in prepared.run(topics)]
        except (PySparkException, Py4JError) as e:
            culprit = prepared.culprit(topics)
            if culprit is None:
                raise
            raise cannot(culprit.part, [culprit.topic], planned, e) from None

    @contextlib.contextmanager
    def _planned_anew(self, topics: Sequence[Name], planned: PlannedEpoch) -> Iterator[list[tuple[TopicResults, Rows]]]:
        """Topics are read apart: to pick one out of the records of all would read all of them for each."""
        frames: list[DataFrame] = []
        try:
            found = self._side_by_side(lambda topic: self._topic(topic, planned, frames), topics)
            yield [part for parts in found for part in parts]
        finally:
            for frame in frames:
                frame.unpersist()

    def _topic(self, topic: Name, planned: PlannedEpoch, frames: list[DataFrame]) -> list[tuple[TopicResults, Rows]]:
        """One topic's branches, of which the ledger is collected: then what it caches, one of ``frames``, is there."""
        spans = [span for span in planned.spans if span.topic == topic]
        records = read_spans(self.spark, self.settings, spans, task_records=_TASK_RECORDS, group=self.run.id)
        records = records.coalesce(1) if planned.size <= SMALL else records
        kept = held(self.catalog.topic(topic), self.views[topic], decode(self.catalog.topic(topic), records))
        frames.append(kept.persist(StorageLevel.MEMORY_AND_DISK))
        found = branches_of(self.catalog.topic(topic), self.views[topic], kept)
        return [(b, Rows(rows=b.frame.toArrow()) if b.part == LEDGER else Rows(frame=b.frame)) for b in found]

    def _checked(self, parts: list[tuple[TopicResults, Rows]], planned: PlannedEpoch) -> EpochResults:
        ledgers = [row for b, part in parts if b.part == LEDGER for row in _rows(part)]
        counted = {
            f"{row['_topic']}/{row['_partition']}": RecordCounts(row["records"], row["decoded"], row["quarantined"])
            for row in ledgers
        }
        for span in planned.spans:
            row = next((r for r in ledgers if (r["_topic"], r["_partition"]) == (span.topic, span.partition)), None)
            if not (_within(row, span) if self.catalog.topic(span.topic).compacted else _is_whole(row, span)):
                raise Refused(
                    f"the ledger is off: offsets {span.start} to {span.end} were planned, counted were {row}",
                    where=f"{span.topic}, partition {span.partition}, epoch {planned.number}",
                    fix="topics must not be transactional, and compacted ones must be declared so; see `lk logs`",
                )
        view_rows = {Name(v): sum(row.get(f"rows_{v}", 0) for row in ledgers) for v in self.run.views}
        bad = sum(count.quarantined for count in counted.values())
        parts = self._few_collected(parts, ledgers, bad)
        quarantine = [part for b, part in parts if b.part == QUARANTINE] if bad else []
        partials: dict[Name, list[Rows]] = {Name(view): [] for view in self.run.views}
        for b, part in parts:
            if b.part not in (LEDGER, QUARANTINE):
                partials[Name(b.part)].append(in_window(self.catalog.view(b.part), part, planned.batch_time_ms))
        done = EpochResults(counted, view_rows, quarantine, partials)
        _reconcile(done, planned, self.rollups)
        return done

    def _few_collected(
        self, parts: list[tuple[TopicResults, Rows]], ledgers: Sequence[dict[str, Any]], bad: int
    ) -> list[tuple[TopicResults, Rows]]:
        """The same parts; those of not too many rows are collected."""

        def few(branch: TopicResults, part: Rows) -> bool:
            if part.frame is None:
                return False
            return 0 < bad <= _FEW_BAD if branch.part == QUARANTINE else _most_bytes(branch.part, ledgers) <= COLLECTED

        wanted = [b for b, part in parts if few(b, part)]
        rest = [(b, part) for b, part in parts if not few(b, part)]
        tables = self._side_by_side(lambda branch: branch.frame.toArrow(), wanted)
        return rest + [(b, Rows(rows=rows)) for b, rows in zip(wanted, tables, strict=True)]

    def _side_by_side(self, what: Callable[[One], Result], of: Sequence[One]) -> list[Result]:
        """What Spark gives for each, asked for at once: where one job waits or has a task too few, another goes on.

        The jobs belong to the caller's query, and end when it is stopped.
        """
        running = [self._pool.submit(inheritable_thread_target(self.spark)(what), one) for one in of]
        wait(running)
        return [job.result() for job in running]


def _is_whole(row: dict[str, Any] | None, span: Span) -> bool:
    """Every offset of the span is a record."""
    wanted = (span.size, span.start, span.end - 1)
    return row is not None and (row["records"], row["first_offset"], row["last_offset"]) == wanted


def _within(row: dict[str, Any] | None, span: Span) -> bool:
    """The records are of the span, each once; the log may have lost some, or all."""
    if row is None:
        return True
    first, last = row["first_offset"], row["last_offset"]
    return bool(span.start <= first <= last < span.end and row["records"] <= last - first + 1)


def _most_bytes(view: str, ledgers: Sequence[dict[str, Any]]) -> int:
    """What a view's partial takes at most: as the ledger bounds it, else by the rows that it is made of."""
    return sum(row.get(f"bytes_{view}", row.get(f"rows_{view}", 0) * _ROW) for row in ledgers)


def cannot(part: str, topics: Sequence[str], planned: PlannedEpoch, reason: BaseException) -> LkError:
    """The view that stops its run, with where and why."""
    text = str(reason).strip().splitlines()
    what = f"view {part} cannot be computed" if not part.startswith("_") else "records cannot be decoded"
    return Refused(
        f"{what}: {next((line for line in text if line.strip()), '')[:300]}",
        where=f"topic {', '.join(topics)}, epoch {planned.number}, offsets {planned.start} to {planned.end}",
        fix="correct the definition, then start a new run: `lk speed start --new`",
    )


def _reconcile(done: EpochResults, planned: PlannedEpoch, rollups: Sequence[Name]) -> None:
    """The hidden count of every partial, or how many events a keyed view keeps, is what was counted event by event."""
    for view, parts in done.partials.items():
        if any(part.rows is None for part in parts):
            continue
        tables = [part.rows for part in parts if part.rows is not None]
        grouped = sum((pa.compute.sum(t[ROWS]).as_py() or 0) if view in rollups else t.num_rows for t in tables)
        if grouped != done.view_rows[view]:
            raise Refused(
                f"the ledger of {view} is off: {grouped} rows were grouped, {done.view_rows[view]} were counted",
                where=f"epoch {planned.number}",
                fix="the definition is not deterministic; correct it and start a new run",
            )


def _rows(part: Rows) -> list[dict[str, Any]]:
    assert part.rows is not None
    rows: list[dict[str, Any]] = part.rows.to_pylist()
    return rows
