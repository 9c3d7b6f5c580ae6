"""What one epoch adds: counted records, bad records and a partial per view, as Arrow or as DataFrames by its size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.storagelevel import StorageLevel

from core.catalog import Catalog
from core.errors import LkError, Refused
from core.ident import Name
from core.view import ROWS, View
from infra.runs import Counted, Run
from infra.settings import Settings
from speed.branches import LEDGER, QUARANTINE, Branch, branches_of, decoded, held
from speed.prepared import Prepared, prepare
from speed.progress import Planned

SMALL = 25_000  # offsets; up to it, a restart's backlog too, plans made once and one task each beat a shuffle
COLLECTED = 192 * 1024 * 1024  # bytes; a partial up to it is collected, and delta-rs writes it in less time than Spark
_ROW = 768  # bytes of a row, where nothing better is known
_FEW_BAD = 1_000


@dataclass(frozen=True)
class Part:
    """Rows of one table: collected, or left in Spark when there may be many."""

    rows: pa.Table | None = None
    frame: DataFrame | None = None


@dataclass(frozen=True)
class Computed:
    """The whole of an epoch, nothing of it written yet."""

    counted: dict[str, Counted]
    view_rows: dict[Name, int]
    quarantine: list[Part]
    partials: dict[Name, list[Part]]


class Compute:
    """Computes the epochs of one run in one session."""

    def __init__(self, spark: SparkSession, settings: Settings, catalog: Catalog, run: Run) -> None:
        self.spark = spark
        self.catalog = catalog
        self.run = run
        self.views = {topic: self._reading(topic) for topic in run.topics}
        self.prepared: Prepared | None = prepare(spark, settings, catalog, run, self.views)

    @contextlib.contextmanager
    def computed(self, records: DataFrame, planned: Planned) -> Iterator[Computed]:
        """The epoch's results, with the ledger checked; frames are of use only inside the block."""
        topics = sorted({span.topic for span in planned.spans})
        if planned.size <= SMALL and self.prepared and self.prepared.put(records, topics):
            yield self._checked(self._at_once(self.prepared, topics, planned), planned)
            return
        with _planned_anew(self.catalog, self.views, records, topics, planned) as parts:
            yield self._checked(parts, planned)

    def _reading(self, topic: Name) -> list[View]:
        return [view for view in self.catalog.reading(topic) if view.name in self.run.views]

    def _at_once(self, prepared: Prepared, topics: Sequence[Name], planned: Planned) -> list[tuple[Branch, Part]]:
        try:
            return [(branch, Part(rows=rows)) for branch, rows in prepared.run(topics)]
        except (PySparkException, Py4JError) as e:
            culprit = prepared.culprit(topics)
            if culprit is None:
                raise
            raise cannot(culprit, planned, e) from None

    def _checked(self, parts: list[tuple[Branch, Part]], planned: Planned) -> Computed:
        ledgers = [row for b, part in parts if b.part == LEDGER for row in _rows(part)]
        counted = {
            f"{row['_topic']}/{row['_partition']}": Counted(row["records"], row["decoded"], row["quarantined"])
            for row in ledgers
        }
        for span in planned.spans:
            row = next((r for r in ledgers if (r["_topic"], r["_partition"]) == (span.topic, span.partition)), None)
            if row is None or (row["records"], row["first_offset"], row["last_offset"]) != (
                span.size,
                span.start,
                span.end - 1,
            ):
                raise Refused(
                    f"the ledger is off: offsets {span.start} to {span.end} were planned, counted were {row}",
                    where=f"{span.topic}, partition {span.partition}, epoch {planned.number}",
                    todo="topics must be neither compacted nor transactional; see `lk logs`",
                )
        view_rows = {Name(v): sum(row.get(f"rows_{v}", 0) for row in ledgers) for v in self.run.views}
        bad = sum(count.quarantined for count in counted.values())
        quarantine = [part for b, part in parts if b.part == QUARANTINE] if bad else []
        if bad <= _FEW_BAD:
            quarantine = [Part(rows=_collected(part)) for part in quarantine]
        partials: dict[Name, list[Part]] = {Name(view): [] for view in self.run.views}
        for b, part in parts:
            if b.part not in (LEDGER, QUARANTINE):
                few = _most_bytes(b.part, ledgers) <= COLLECTED
                partials[Name(b.part)].append(Part(rows=_collected(part)) if few else part)
        done = Computed(counted, view_rows, quarantine, partials)
        _reconcile(done, planned)
        return done


def _most_bytes(view: str, ledgers: Sequence[dict[str, Any]]) -> int:
    """What a view's partial takes at most: as the ledger bounds it, else by the rows that it is made of."""
    return sum(row.get(f"bytes_{view}", row.get(f"rows_{view}", 0) * _ROW) for row in ledgers)


def cannot(branch: Branch, planned: Planned, reason: BaseException) -> LkError:
    """The view that stops its run, with where and why."""
    text = str(reason).strip().splitlines()
    what = f"view {branch.part} cannot be computed" if not branch.part.startswith("_") else "records cannot be decoded"
    return Refused(
        f"{what}: {next((line for line in text if line.strip()), '')[:300]}",
        where=f"topic {branch.topic}, epoch {planned.number}, offsets {planned.start} to {planned.end}",
        todo="correct the definition, then start a new run: `lk speed start --new`",
    )


@contextlib.contextmanager
def _planned_anew(
    catalog: Catalog, views: dict[Name, list[View]], records: DataFrame, topics: Sequence[Name], planned: Planned
) -> Iterator[list[tuple[Branch, Part]]]:
    small = planned.size <= SMALL
    records = records.coalesce(1) if small else records
    frames = [held(views[topic], decoded(catalog, topic, records)) for topic in topics]
    for frame in frames:
        frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        found = [
            b for topic, frame in zip(topics, frames, strict=True) for b in branches_of(topic, views[topic], frame)
        ]
        yield [(b, Part(frame=b.frame)) for b in found]
    finally:
        for frame in frames:
            frame.unpersist()


def _reconcile(done: Computed, planned: Planned) -> None:
    """The hidden count of every partial is what was counted event by event."""
    for view, parts in done.partials.items():
        if any(part.rows is None for part in parts):
            continue
        grouped = sum(pa.compute.sum(part.rows[ROWS]).as_py() or 0 for part in parts if part.rows is not None)
        if grouped != done.view_rows[view]:
            raise Refused(
                f"the ledger of {view} is off: {grouped} rows were grouped, {done.view_rows[view]} were counted",
                where=f"epoch {planned.number}",
                todo="the definition is not deterministic; correct it and start a new run",
            )


def _rows(part: Part) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _collected(part).to_pylist()
    return rows


def _collected(part: Part) -> pa.Table:
    if part.rows is not None:
        return part.rows
    assert part.frame is not None
    return part.frame.toArrow()
