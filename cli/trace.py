"""The verb trace: one record, from its bytes to the rows that are served."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from cli import candidates
from cli.options import json_option, load_settings, load_usable
from cli.output import emit, line, table
from core.identifiers import Name
from core.positions import RecordPosition
from core.safe_text import one_line, shortened
from core.unix_time import utc_millis_text
from flows.trace import stage_texts

if TYPE_CHECKING:
    from flows.trace.stages import (
        Decoded,
        KafkaRecord,
        RedriveLink,
        Row,
        ServedSide,
        Trace,
        ViewTrace,
    )

_WIDEST = 120  # characters of a cell


@click.command()
@click.argument("topic", shell_complete=candidates.topics)
@click.argument("partition", type=int)
@click.argument("offset", type=int)
@click.option(
    "--view", "views", type=Name, multiple=True, shell_complete=candidates.views, help="Also its rows in this view."
)
@click.option("--rows", is_flag=True, help="Also its rows in every view.")
@json_option
def trace(topic: str, partition: int, offset: int, views: tuple[Name, ...], rows: bool) -> int:
    """Show where a record went; exit 1 if a view miscounts it.

    A view miscounts it if it should count it and does not, or counts it twice. Its rows in views need Spark on this
    machine, which takes some seconds. Nothing is changed.
    """
    from flows.trace.trace_record import trace_record

    settings = load_settings()
    catalog = load_usable(settings, ("topic", topic))
    name = Name(catalog.topic(topic).name)
    rows_of = tuple(Name(view.name) for view in catalog.reading(name)) if rows else views
    traced = trace_record(settings, catalog, name, partition, offset, rows_of=rows_of)
    emit(traced, print_trace)
    return 1 if any(view.served.side in ("missing", "twice") for view in traced.views) else 0


def print_trace(trace: Trace) -> None:
    """Every stage in the order in which a record passes them."""
    _say(str(RecordPosition(trace.topic, trace.partition, trace.offset)))
    _problems(trace.problems)
    _print_record(trace.record)
    _print_decoded(trace.decoded)
    _print_redriven(trace.redriven)
    _stage("3. Epochs", [] if trace.runs else [stage_texts.NO_RUN])
    for run in trace.runs:
        _say(f"  {run.text}", run.note)
        _problems([run.problem])
    _stage("4. Archive", [] if trace.archives else [stage_texts.NO_ARCHIVE])
    for archive in trace.archives:
        _say(f"  {stage_texts.archived(archive)}", archive.note)
        _problems([archive.problem])
        _say(f"    table {archive.table}, version {archive.version}{f', file {archive.file}' if archive.file else ''}")
    _stage("5. Routes", [] if trace.routes else [stage_texts.NO_ROUTE])
    for route in trace.routes:
        _say("  " + " · ".join(stage_texts.routed(route)))
        _problems([route.problem])
    _stage("6. Views", [] if trace.views else ["no view reads this topic"])
    for view in trace.views:
        _print_view(view)
    if any(view.contributes is not False for view in trace.views) and not any(view.places for view in trace.views):
        _say("  `--view VIEW` or `--rows` adds keys, windows and rows; Spark computes them in some seconds")


def _print_record(record: KafkaRecord) -> None:
    _stage("1. Kafka", [f"{record.presence}{': ' if record.note else ''}{record.note}", record.span])
    _problems([record.problem])
    if record.timestamp:
        _say(f"  timestamp  {utc_millis_text(record.timestamp)} ({record.timestamp_type})")
        for name, text in record.parts:
            _say(f"  {name:<9}  {text}")


def _print_decoded(decoded: Decoded) -> None:
    _stage("2. Decoding", stage_texts.decoding(decoded))
    _problems([decoded.problem])
    if decoded.cells:
        _print_rows([{name: value for name, value in decoded.cells.items() if value is not None}])


def _print_redriven(redriven: RedriveLink) -> None:
    texts = stage_texts.redrive(redriven)
    if texts or redriven.problem:
        _stage("Redrive", texts)
        _problems([redriven.problem])


def _print_view(view: ViewTrace) -> None:
    served = view.served
    _say(f"  {view.view}: {served.text}", stage_texts.counted(served), view.note)
    _problems([view.problem, served.problem])
    for place in view.places:
        _say(f"    belongs to {', '.join(f'{name} {value}' for name, value in place.items() if name != '_segment')}")
    for partials in view.partials:
        _say(f"    {stage_texts.partial_table(partials)}", partials.note)
        _problems(stage_texts.problems(partials))
        if partials.kept:
            _say("      the event that the run keeps:")
            _print_rows([partials.kept])
        _print_rows([row.shown for row in partials.rows])
    for build in view.builds:
        _say(f"    {stage_texts.build_holds(build)}", build.note)
        _say(f"      table {build.table}")
        _problems(stage_texts.problems(build))
        _print_rows(build.rows)
    if view.removed:
        _say("    without it, there would be:")
        _print_rows(view.removed)
    _print_served(view, served)


def _print_served(view: ViewTrace, served: ServedSide) -> None:
    if view.places:
        _say(f"    served now by serving.{view.view}: {len(served.rows)} rows")
        _print_rows(served.rows)
        _say(f"    SQL  {served.sql}")


def _print_rows(rows: Sequence[Row]) -> None:
    if rows:
        columns = list(rows[0])
        table("", [one_line(column) for column in columns], [[_cell(row.get(c)) for c in columns] for row in rows])


def _cell(value: object) -> str:
    text = "null" if value is None else one_line(str(value))
    return shortened(text, _WIDEST)


def _stage(title: str, texts: Iterable[str]) -> None:
    _say("")
    _say(" · ".join([title, *filter(None, texts)]))


def _problems(texts: Iterable[str]) -> None:
    for text in filter(None, texts):
        _say(f"  problem: {text}")


def _say(*texts: str) -> None:
    line(one_line(" · ".join(filter(None, texts))))


COMMANDS = [trace]
