"""The page of one record: what Kafka and the lake have of it at every stage.

Its keys, windows and rows need Spark. A process of their own reads them (``trace_rows``): the server starts no Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.identifiers import Name
from core.positions import RecordPosition
from core.safe_text import one_line
from core.unix_time import utc_millis_text
from flows.trace import stage_texts
from flows.trace.stage_texts import texts
from flows.trace.stages import KafkaRecord, Row, Trace, ViewTrace
from flows.trace.trace_record import trace_record, trace_stored
from infra.definitions import definition_files
from infra.settings import Settings


@dataclass(frozen=True)
class RowTable:
    """Rows of the same columns; the title is empty where the stage says what they are."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Stage:
    """One stage of the record: lines of text, its problems, and tables."""

    title: str
    lines: tuple[str, ...]
    problems: tuple[str, ...] = ()
    tables: tuple[RowTable, ...] = ()


@dataclass(frozen=True)
class TracePage:
    """What the page of a record shows. ``more`` is the address with its keys, windows and rows, "" if it has them."""

    position: str
    more: str
    stages: tuple[Stage, ...]
    problems: tuple[str, ...]


def trace_page(settings: Settings, topic: str, partition: int, offset: int, *, rows: bool = False) -> TracePage:
    """The page of a record; with ``rows`` it starts Spark.

    Raises Usage for a topic that is not declared, Refused for a record that is not there.
    """
    catalog, _ = definition_files.load_usable(settings)
    name = Name(catalog.topic(topic).name)
    if rows:
        views = [Name(view.name) for view in catalog.reading(name)]
        trace = trace_record(settings, catalog, name, partition, offset, rows_of=views)
    else:
        trace = trace_stored(settings, catalog, name, partition, offset)
    position = str(RecordPosition(name, partition, offset))
    return TracePage(position, "" if rows else f"/trace/{position}/rows", stages_of(trace), trace.problems)


def stages_of(trace: Trace) -> tuple[Stage, ...]:
    """The stages in the order in which a record passes them, as `lk trace` prints them."""
    decoded = trace.decoded
    return (
        Stage("Kafka", _record(trace.record), texts(trace.record.problem)),
        Stage("Decoding", stage_texts.decoding(decoded), texts(decoded.problem), _table("", [decoded.cells])),
        *_redriven(trace),
        _epochs(trace),
        _archives(trace),
        _routes(trace),
        *(_view(view) for view in trace.views),
    )


def _record(record: KafkaRecord) -> tuple[str, ...]:
    shown = [one_line(f"{name}: {text}") for name, text in record.parts] if record.timestamp else []
    timestamp = f"timestamp: {utc_millis_text(record.timestamp)} ({record.timestamp_type})" if record.timestamp else ""
    return texts(record.presence, record.note, record.span, timestamp, *shown)


def _redriven(trace: Trace) -> list[Stage]:
    redriven = trace.redriven
    lines = stage_texts.redrive(redriven)
    return [Stage("Redrive", lines, texts(redriven.problem))] if lines or redriven.problem else []


def _epochs(trace: Trace) -> Stage:
    lines, problems = list[str](), list[str]()
    for run in trace.runs:
        lines.append(run.text)
        lines += texts(run.note)
        problems += texts(run.problem)
    return Stage("Epochs", tuple(lines or [stage_texts.NO_RUN]), tuple(problems))


def _archives(trace: Trace) -> Stage:
    lines, problems = list[str](), list[str]()
    for archive in trace.archives:
        lines += texts(f"{stage_texts.archived(archive)}, table {archive.table}", archive.note)
        problems += texts(archive.problem)
    return Stage("Archive", tuple(lines or [stage_texts.NO_ARCHIVE]), tuple(problems))


def _routes(trace: Trace) -> Stage:
    lines, problems = list[str](), list[str]()
    for route in trace.routes:
        lines.append(" · ".join(stage_texts.routed(route)))
        problems += texts(route.problem)
    return Stage("Routes", tuple(lines or [stage_texts.NO_ROUTE]), tuple(problems))


def _view(view: ViewTrace) -> Stage:
    lines = [*texts(view.served.text, stage_texts.counted(view.served), view.note)]
    problems = [*texts(view.problem, view.served.problem)]
    tables = [*_table("Its keys and windows", view.places)]
    for partials in view.partials:
        lines += texts(stage_texts.partial_table(partials), partials.note)
        problems += stage_texts.problems(partials)
        tables += _table(f"The event that run {partials.run} keeps", [partials.kept])
        tables += _table(f"Partial rows of run {partials.run}", [row.shown for row in partials.rows])
    for build in view.builds:
        lines += texts(f"{stage_texts.build_holds(build)}, table {build.table}", build.note)
        problems += stage_texts.problems(build)
        tables += _table(f"Rows of build {build.build}", build.rows)
    tables += _table("Rows that would be there without it", view.removed)
    tables += _table("What is served now", view.served.rows)
    return Stage(f"View {view.view}", tuple(lines), tuple(problems), tuple(tables))


def _table(title: str, rows: Iterable[Row | None]) -> tuple[RowTable, ...]:
    """The rows as a table, without columns that are null in all of them; none without rows."""
    present = [row for row in rows if row]
    columns = [name for name in (present[0] if present else {}) if any(row.get(name) is not None for row in present)]
    shown = tuple({name: row.get(name) for name in columns} for row in present)
    return (RowTable(title, shown),) if shown else ()
