"""The verbs of topics and their records: topics, produce."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import INTERRUPTED, emit, table
from core.errors import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.kafka.producer import Acknowledged
    from infra.kafka.topics import Applied


@click.command()
@click.argument("topic")
@click.option("--file", "path", type=click.Path(path_type=Path), help="Load this .jsonl or text file, gzipped or not.")
@click.option("--key", help="The field that becomes the record key (default: as the topic says).")
@click.option("--time", "when", default="now", show_default=True, help="The record's time: now, or a field.")
@click.option("--loop", default=1, show_default=True, help="Load the file this many times.")
@click.option("--rate", type=float, help="Records a second (default: as fast as it goes; generator: 1000).")
@click.option("--seed", type=int, help="Make up events from this seed instead of loading a file.")
@click.option("--count", type=int, help="How many events to make up.")
@click.option("--seconds", type=float, help="Generate for so long (instead of --count).")
@click.option("--start", type=click.DateTime(), help="Time of the first event, UTC (default: now).")
@click.option("--late", default=0.0, show_default=True, help="Share of events that are late.")
@click.option("--late-by", default=3600.0, show_default=True, help="By up to so many seconds.")
@click.option("--out-of-order", default=0.0, show_default=True, help="Share of events that step back by a little.")
@click.option("--duplicate", default=0.0, show_default=True, help="Share of records that are sent again.")
@click.option("--unmatched", default=0.0, show_default=True, help="Share of events without a partner in other topics.")
@click.option("--bad", default=0.0, show_default=True, help="Share of records that cannot be decoded.")
@json_option
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
    """Sends records to TOPIC: from a file, or made-up ones. Not repeatable: each call sends them again."""
    from core.sample_data.records import records
    from core.sample_data.spec import SampleSpec
    from infra.kafka.input_files import InputFile
    from infra.kafka.producer import produce as send
    from infra.kafka.sample_input import outgoing

    current = settings()
    declared = catalog(current).topic(topic)
    if (path is None) == (seed is None):
        raise Usage("there is nothing to send", fix="specify either --file FILE or --seed N")
    if path is not None:
        source = InputFile(path, declared, key=key, time=when, loop=loop)
        return _acknowledged(send(current, declared, source.records(), rate=rate, done=lambda: source.done))
    pace = rate or 1000.0
    total = count if count is not None else int(pace * seconds) if seconds else None
    first_at = int(start.replace(tzinfo=UTC).timestamp() * 1000) if start else int(time.time() * 1000)
    spec = SampleSpec(seed or 0, first_at, pace, late, int(late_by * 1000), out_of_order, duplicate, unmatched, bad)
    generated = outgoing(declared, records(declared, spec, total))
    return _acknowledged(send(current, declared, generated, rate=pace, total=total))


@click.group()
def topics() -> None:
    """The topics of the cluster."""


@topics.command("apply")
@json_option
def apply() -> None:
    """Makes the cluster's topics what their files say: missing ones are made, others changed; none is ever shrunk."""
    from infra.kafka import topics as cluster

    found = settings()
    emit(cluster.apply(found, catalog(found)), _print_applied)


def _acknowledged(done: Acknowledged) -> int:
    """Prints what the broker has; Ctrl-C ends an endless one, and is told by the exit code."""
    emit(done.insist(), _print_acknowledged)
    return INTERRUPTED if done.interrupted else 0


def _print_acknowledged(done: Acknowledged) -> None:
    rows = [(one.partition, one.count, one.first, one.last) for one in done.partitions]
    table(f"{done.topic}: {done.count:,} records acknowledged", ["partition", "records", "first", "last"], rows)


def _print_applied(done: Sequence[Applied]) -> None:
    table("topics", ["topic", "done", "changes"], [(one.topic, one.done, ", ".join(one.changes)) for one in done])


COMMANDS = [topics, produce]
