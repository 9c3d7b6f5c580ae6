"""Traces one record of the log from its bytes to the rows that are served. It reads only, and joins no group."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from core.catalog import Catalog
from core.errors import Refused, Usage
from core.identifiers import Name
from core.positions import RecordPosition
from core.view import View
from flows.trace.archived_record import ArchiveStage, raw_of, read_archives
from flows.trace.cells import noting_problem
from flows.trace.computed_rows import Computed, compute
from flows.trace.decoded_row import stored_outcome
from flows.trace.kafka_record import KafkaStage, RawRecord, read_record
from flows.trace.redriven_copy import read_redriven
from flows.trace.route_copies import read_routes
from flows.trace.run_epochs import RunStage, read_runs
from flows.trace.stages import Decoded, RouteCopy, Trace
from flows.trace.view_partials import Contribution
from flows.trace.view_trace import EarlierStages, ServedRows, trace_view
from infra.control import publications
from infra.control.publications import Publication
from infra.progress_bar import bar
from infra.settings import Settings

_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class _Stored:
    """What Kafka, the archives and the manifests have of the record, before the views."""

    kafka: KafkaStage
    runs: Sequence[RunStage]
    archives: Sequence[ArchiveStage]
    decoded: Decoded
    publication: Publication | None
    problems: list[str] = field(default_factory=list)

    @property
    def raw(self) -> RawRecord | None:
        """The record's bytes, from Kafka or else from an archive."""
        return self.kafka.raw or next((raw_of(archive.row) for archive in self.archives if archive.row), None)


def trace_record(
    settings: Settings, catalog: Catalog, topic: Name, partition: int, offset: int, *, rows_of: Collection[Name] = ()
) -> Trace:
    """One record at every stage; ``rows_of`` are the views whose keys, windows and rows are read, which needs Spark.

    Raises Usage for an unknown topic, partition or view, and Refused for an offset that the log has not reached. What
    else cannot be read is a problem of its stage. Spark also decodes a record that no run and no batch has read.
    """
    chosen = _chosen(catalog, topic, partition, offset, rows_of)
    position = RecordPosition(topic, partition, offset)
    with bar(f"reading {position}"):
        stored = _read_stored(settings, catalog, position)
    computed = _computed(settings, catalog, position, stored, chosen)
    with bar("reading the views"):
        return _trace(settings, catalog, position, stored, computed)


def trace_stored(settings: Settings, catalog: Catalog, topic: Name, partition: int, offset: int) -> Trace:
    """What Kafka and the lake have of one record at every stage, without Spark; errors as ``trace_record``."""
    _chosen(catalog, topic, partition, offset, ())
    position = RecordPosition(topic, partition, offset)
    return _trace(settings, catalog, position, _read_stored(settings, catalog, position), None)


def _trace(
    settings: Settings, catalog: Catalog, position: RecordPosition, stored: _Stored, computed: Computed | None
) -> Trace:
    topic, partition, offset = position
    problems = list(stored.problems)
    timestamp = stored.raw.timestamp if stored.raw else None
    routes: tuple[RouteCopy, ...] = noting_problem(
        lambda: read_routes(settings, catalog, position, stored.kafka.topic_id, timestamp), (), problems
    )
    decoded = _outcome(stored.decoded, computed)
    served_rows = ServedRows(settings, catalog)
    stages = EarlierStages(
        settings, catalog, position, decoded, stored.runs, stored.archives, stored.publication, served_rows
    )
    return Trace(
        topic=topic,
        partition=partition,
        offset=offset,
        record=stored.kafka.stage,
        decoded=stages.decoded,
        redriven=read_redriven(settings, position, stored.raw),
        runs=tuple(stage.stage for stage in stored.runs),
        archives=tuple(archive.stage for archive in stored.archives),
        routes=routes,
        views=tuple(
            trace_view(stages, view, _contribution(view, position, computed)) for view in catalog.reading(topic)
        ),
        problems=tuple(dict.fromkeys(problems)),
    )


def _chosen(catalog: Catalog, topic: Name, partition: int, offset: int, rows_of: Collection[Name]) -> list[Name]:
    """The views whose rows are read. Raises Usage for names and numbers that cannot be."""
    catalog.topic(topic)
    if not (0 <= partition < 2**31 and 0 <= offset <= _LARGEST):
        raise Usage(
            f"there is no record {RecordPosition(topic, partition, offset)}",
            fix="give a partition and an offset from 0 on",
        )
    for view in rows_of:
        if topic not in catalog.view(view).sources:
            readers = ", ".join(reader.name for reader in catalog.reading(topic)) or "(none)"
            raise Usage(f"view {view} does not read topic {topic}", fix=f"use one of: {readers}")
    return sorted(set(rows_of))


def _read_stored(settings: Settings, catalog: Catalog, position: RecordPosition) -> _Stored:
    topic, partition, offset = position
    problems = list[str]()
    # Before the runs that it pins: a publication that comes meanwhile may pin newer ones.
    publication = noting_problem(lambda: publications.last_done(settings), None, problems)
    kafka = read_record(settings, catalog.topic(topic), partition, offset)
    runs: list[RunStage] = noting_problem(
        lambda: read_runs(settings, topic, kafka.topic_id, partition, offset), [], problems
    )
    archives: list[ArchiveStage] = noting_problem(
        lambda: read_archives(settings, catalog, topic, kafka.topic_id, partition, offset), [], problems
    )
    is_stored = any(run.epoch for run in runs) or any(archive.row for archive in archives)
    if kafka.error and not is_stored:
        raise kafka.error
    if kafka.stage.presence == "not yet" and not is_stored:
        raise Refused(
            f"the log has no record {position} yet",
            where=f"topic {topic}, partition {partition} ends at offset {kafka.stage.end}",
            fix=_offsets(kafka.stage.start or 0, kafka.stage.end or 0),
        )
    decoded = stored_outcome(settings, catalog, topic, (partition, offset), archives, runs, kafka)
    return _Stored(kafka, runs, archives, decoded, publication, problems)


def _computed(
    settings: Settings, catalog: Catalog, position: RecordPosition, stored: _Stored, views: Sequence[Name]
) -> Computed | None:
    """What Spark computes; None where it is not needed, or where nothing has the record's bytes."""
    topic, raw = catalog.topic(position.topic), stored.raw
    is_out = stored.decoded.outcome == "quarantined" and not topic.compacted  # a compacted topic keeps its key
    if raw is None or is_out or not (views or stored.decoded.outcome == "unknown"):
        return None
    pins = stored.publication.pins if stored.publication else {}
    with bar("Spark decodes the record and computes its views"):
        return noting_problem(lambda: compute(settings, catalog, position, raw, views, pins), None, stored.problems)


def _outcome(stored: Decoded, computed: Computed | None) -> Decoded:
    """The stored outcome, with the computed cells where no table has them."""
    if computed is None or (stored.outcome != "unknown" and stored.cells):
        return stored
    if stored.outcome == "unknown":
        return replace(computed.decoded, problem=stored.problem)
    if stored.outcome != computed.decoded.outcome:
        return replace(stored, problem=f"{computed.decoded.source}, it is {computed.decoded.outcome}")
    return replace(stored, cells=computed.decoded.cells)


def _contribution(view: View, position: RecordPosition, computed: Computed | None) -> Contribution | None:
    name = Name(view.name)
    if computed is None or name not in computed.rows:
        return None
    return Contribution(view, position, computed.rows[name], computed.kept.get(name), computed.changes.get(name))


def _offsets(start: int, end: int) -> str:
    given = f"give an offset from {start} to {end - 1}, or " if start < end else ""
    return f"{given}send records first"
