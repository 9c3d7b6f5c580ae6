"""The verbs of records that could not be decoded: list, counts, export, redrive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import json_option, load_settings, load_usable, topic_option
from cli.output import emit, line, table
from cli.verb_group import VerbGroup
from core.identifiers import Name

if TYPE_CHECKING:
    from core.catalog import Catalog
    from infra.settings import Settings
    from speed.quarantine.listing import QuarantineEntry
    from speed.quarantine.redrive import Redriven
    from speed.quarantine.repair_file import Exported
    from speed.quarantine.rule_counts import RuleCount

_TOPIC = topic_option("Only this topic.")


@click.group(cls=VerbGroup, renamed={"digest": "counts"})
def quarantine() -> None:
    """List, export and redrive records that cannot be decoded."""


@quarantine.command("list")
@_TOPIC
@click.option("--limit", default=100, show_default=True, help="Maximum number of records.")
@json_option
def quarantine_list(topic: Name | None, limit: int) -> None:
    """List quarantined records with the rules they broke."""
    from speed.quarantine.listing import list_quarantined

    settings = load_settings()
    emit(list_quarantined(settings, catalog=_usable(settings, topic), topic=topic, limit=limit), _print_list)


@quarantine.command("counts")
@click.option("--since", type=Name, metavar="BUILD", help="Only records after the cut of this build.")
@json_option
def quarantine_counts(since: Name | None) -> None:
    """Count quarantined records by topic and rule."""
    from flows.quarantine import count_by_rule

    settings = load_settings()
    emit(count_by_rule(settings, load_usable(settings), since), _print_counts)


@quarantine.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@_TOPIC
@click.option("--rule", help="Only records that broke this rule.")
@json_option
def quarantine_export(file: Path, topic: Name | None, rule: str | None) -> None:
    """Write quarantined records to FILE, for repair.

    FILE gets one JSON object per line. Edit the values, then call `lk quarantine redrive FILE`.
    """
    from speed.quarantine.listing import quarantined_records
    from speed.quarantine.repair_file import export

    settings = load_settings()
    catalog = _usable(settings, topic)
    records = quarantined_records(settings, catalog, topic)
    emit(export(settings, catalog.topics, records, file, rule), _print_exported)


@quarantine.command("redrive")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@audited(begins=True)
def quarantine_redrive(file: Path) -> None:
    """Send the repaired records in FILE to their topics.

    Each record is sent once, however often this is called.
    """
    from flows import needed_definitions
    from flows.quarantine import redrive_file

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_repairs(file))
    emit(redrive_file(settings, catalog, file), _print_redriven)


def _usable(settings: Settings, topic: Name | None) -> Catalog:
    """The definitions without mistakes. Raises Refused if that of ``topic`` is not among them."""
    return load_usable(settings, *([("topic", topic)] if topic else []))


def _print_list(records: Sequence[QuarantineEntry]) -> None:
    rows = [(r.topic, r.partition, r.offset, ", ".join(r.rules), r.redriven, r.text) for r in records]
    columns = ["topic", "partition", "offset", "rules", "redriven", "record"]
    table(f"{len(records)} quarantined", columns, rows, ids=["offset"])


def _print_counts(counts: Sequence[RuleCount]) -> None:
    rows = [(c.topic, c.rule, c.records, c.redriven, c.first, c.first_at, c.last, c.last_at) for c in counts]
    columns = ["topic", "rule", "records", "redriven", "first", "at", "last", "at"]
    table("quarantined, by rule", columns, rows)


def _print_exported(exported: Exported) -> None:
    line(f"{exported.records:,} records in {exported.file}")
    if exported.redriven or exported.copies:
        line(f"left out: {exported.redriven:,} already redriven, {exported.copies:,} that are redriven copies")


def _print_redriven(redriven: Redriven) -> None:
    line(f"{redriven.sent:,} records sent · {redriven.already:,} were in the log already")


COMMANDS = [quarantine]
