"""The verbs of records that could not be decoded: list, digest, export, redrive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out, table
from core.identifiers import Name

if TYPE_CHECKING:
    from speed.quarantine.listing import QuarantineEntry, RuleCount
    from speed.quarantine.redrive import Redriven
    from speed.quarantine.repair_file import Exported

_TOPIC = click.option("--topic", type=Name, help="Only this topic.")


@click.group()
def quarantine() -> None:
    """Records that could not be decoded: list, digest, export, redrive."""


@quarantine.command("list")
@_TOPIC
@click.option("--limit", default=100, show_default=True)
@json_option
def quarantine_list(topic: Name | None, limit: int) -> None:
    """Lists quarantined records: where they are, which rules they broke, what they hold."""
    from speed.quarantine.listing import list_quarantined

    emit(list_quarantined(settings(), topic=topic, limit=limit), _print_list)


@quarantine.command("digest")
@click.option("--since", type=Name, help="Only records after the cut of this build.")
@json_option
def quarantine_digest(since: Name | None) -> None:
    """Counts quarantined records by topic and rule, with the first and the last of each; for a daily mail."""
    from flows import quarantine as flow

    found = settings()
    emit(flow.digest(found, catalog(found), since), _print_digest)


@quarantine.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@_TOPIC
@click.option("--rule", help="Only records that broke this rule.")
@json_option
def quarantine_export(file: Path, topic: Name | None, rule: str | None) -> None:
    """Writes quarantined records to FILE, one JSON object per line, to be repaired there."""
    from speed.quarantine.listing import quarantined_records
    from speed.quarantine.repair_file import export

    found = settings()
    emit(export(found, quarantined_records(found, catalog(found), topic), file, rule), _print_exported)


@quarantine.command("redrive")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def quarantine_redrive(file: Path) -> None:
    """Sends the repaired records in FILE to their topics, each once, however often this is called."""
    from flows import quarantine as flow

    found = settings()
    emit(flow.redrive(found, catalog(found), file), _print_redriven)


def _print_list(rows: list[QuarantineEntry]) -> None:
    shown = [(r.topic, r.partition, r.offset, ", ".join(r.rules), r.redriven, r.text) for r in rows]
    table(f"{len(rows)} quarantined", ["topic", "partition", "offset", "rules", "redriven", "record"], shown)


def _print_digest(rows: list[RuleCount]) -> None:
    shown = [(r.topic, r.rule, r.records, r.redriven, r.first, r.first_at, r.last, r.last_at) for r in rows]
    columns = ["topic", "rule", "records", "redriven", "first", "at", "last", "at"]
    table("quarantined, by rule", columns, shown)


def _print_exported(done: Exported) -> None:
    out().print(f"{done.records:,} records in {done.file}", markup=False, highlight=False)
    if done.redriven or done.copies:
        out().print(f"left out: {done.redriven:,} that were redriven, {done.copies:,} that are copies themselves")


def _print_redriven(done: Redriven) -> None:
    out().print(f"{done.sent:,} records sent · {done.already:,} were in the log already")


COMMANDS = [quarantine]
