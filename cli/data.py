"""The verbs of topics and their records: topics, produce."""

from __future__ import annotations

import contextlib
import time
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli import candidates
from cli.audited import audited
from cli.options import json_option, load_settings, load_usable, moment
from cli.output import INTERRUPTED, emit, line, table
from cli.verb_group import VerbGroup
from core.errors import LkError, Usage
from core.identifiers import Name
from core.safe_text import several_lines
from core.unix_time import epoch_millis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.catalog import Catalog
    from flows.topics import TopicSummary
    from infra.kafka.producer import Acknowledged
    from infra.kafka.topic_admin import TopicChange
    from infra.settings import Settings


@click.group(cls=VerbGroup, invoke_without_command=True)
@json_option
@click.pass_context
def topics(ctx: click.Context) -> None:
    """List the topics: as declared, and as the cluster has them."""
    from flows.topics import list_topics

    if ctx.invoked_subcommand is None:
        settings = load_settings()
        emit(list_topics(settings, load_usable(settings)), _print_topics)


@topics.command("apply")
@json_option
@audited(begins=True)
def apply() -> None:
    """Create and change the cluster's topics as declared.

    No topic loses a partition or a record: a change that would need that is refused.
    """
    from infra.kafka import topic_admin

    settings = load_settings()
    emit(topic_admin.apply_topics(settings, load_usable(settings)), _print_applied)


@click.command()
@click.argument("topic", shell_complete=candidates.topics)
@click.option("--file", "path", type=click.Path(path_type=Path), help="Send this .jsonl or text file, gzipped or not.")
@click.option("--key", help="Field that becomes the record key (default: as the topic declares).")
@click.option("--time", "when", default="now", show_default=True, help="Record timestamp: now, or a field.")
@click.option("--loop", default=1, show_default=True, help="Send the file this many times.")
@click.option("--rate", type=float, help="Records per second (default: no limit for a file, 1000 for a generator).")
@click.option("--seed", type=int, help="Generate events from this seed instead of sending a file.")
@click.option("--count", type=int, help="Number of events to generate.")
@click.option("--seconds", type=float, help="Generate for this long, instead of --count.")
@click.option("--start", type=moment, metavar="TIME", help="Time of the first event, UTC (default: now).")
@click.option("--late", default=0.0, show_default=True, help="Share of late events.")
@click.option("--late-by", default=3600.0, show_default=True, help="Maximum lateness in seconds.")
@click.option("--out-of-order", default=0.0, show_default=True, help="Share of events up to 3 seconds out of order.")
@click.option("--duplicate", default=0.0, show_default=True, help="Share of records that are sent twice.")
@click.option("--unmatched", default=0.0, show_default=True, help="Share of events without a match in other topics.")
@click.option("--bad", default=0.0, show_default=True, help="Share of records that cannot be decoded.")
@json_option
@audited()
def produce(
    topic: str,
    path: Path | None,
    key: str | None,
    when: str,
    loop: int,
    rate: float | None,
    seed: int | None,
    count: int | None,
    seconds: float | None,
    start: datetime | None,
    late: float,
    late_by: float,
    out_of_order: float,
    duplicate: float,
    unmatched: float,
    bad: float,
) -> int:
    """Send records to a topic, from a file or generated.

    Each call sends the records again: a repeat duplicates them.
    """
    from core.sample_data.records import records
    from core.sample_spec import SampleSpec
    from infra.kafka import producer
    from infra.kafka.input_files import InputFile
    from infra.kafka.sample_input import outgoing
    from infra.personal.seal_records import seal_records

    settings = load_settings()
    catalog = load_usable(settings, ("topic", topic))
    declared = catalog.topic(topic)
    if (path is None) == (seed is None):
        raise Usage("there is nothing to send", fix="specify either --file FILE or --seed N")
    if path is not None:
        source = InputFile(path, declared, key=key, time=when, loop=loop)
        lines = seal_records(settings, declared, source.records())
        sent = producer.produce(settings, declared, lines, rate=rate, progress=lambda: source.progress)
        return _acknowledged(sent, settings, catalog)
    pace = rate or 1000.0
    total = count if count is not None else int(pace * seconds) if seconds else None
    first_at = epoch_millis(start) if start else int(time.time() * 1000)
    spec = SampleSpec(seed or 0, first_at, pace, late, int(late_by * 1000), out_of_order, duplicate, unmatched, bad)
    generated = outgoing(declared, records(declared, spec, total, sealed=partial(seal_records, settings, declared)))
    return _acknowledged(producer.produce(settings, declared, generated, rate=pace, total=total), settings, catalog)


def _acknowledged(sent: Acknowledged, settings: Settings, catalog: Catalog) -> int:
    """Prints what the broker acknowledged. Ctrl-C ends an endless series with exit code 130."""
    emit(sent.require_complete(), _print_acknowledged)
    _warn_of_quarantine(settings, catalog, Name(sent.topic))
    return INTERRUPTED if sent.interrupted else 0


def _warn_of_quarantine(settings: Settings, catalog: Catalog, topic: Name) -> None:
    """Says on stderr when too many earlier records of the topic are in quarantine; a lake is not needed to send."""
    from flows.quarantine_shares import topic_shares

    with contextlib.suppress(LkError):
        for share in topic_shares(settings, catalog, topic):
            click.echo(several_lines(f"lk: warning: {share.line}"), err=True)


def _print_acknowledged(sent: Acknowledged) -> None:
    rows = [(written.partition, written.count, written.first, written.last) for written in sent.partitions]
    columns = ["partition", "records", "first offset", "last offset"]
    table(f"{sent.topic}: {sent.count:,} records acknowledged", columns, rows, ids=["first offset", "last offset"])


def _print_topics(topics: Sequence[TopicSummary]) -> None:
    columns = ["topic", "partitions", "retention", "cluster", "partitions there", "retention there"]
    rows = [(t.topic, t.partitions, t.retention, t.state, t.cluster_partitions, t.cluster_retention) for t in topics]
    table("", columns, rows)
    if any(topic.state == "unknown" for topic in topics):
        line("Kafka does not answer, so the topics of the cluster are unknown; start it: `lk up`")
    elif any(topic.state in ("missing", "differs") for topic in topics):
        line("`lk topics apply` creates and changes topics as declared")


def _print_applied(applied: Sequence[TopicChange]) -> None:
    rows = [(topic.topic, topic.action, ", ".join(topic.changes)) for topic in applied]
    table("topics", ["topic", "result", "changes"], rows)


COMMANDS = [topics, produce]
