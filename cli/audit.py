"""The verbs of the audit: list, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cli.options import json_option, load_settings
from cli.output import emit, line, table
from cli.verb_group import VerbGroup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from infra.control.audit import AuditCheck, AuditRow


@click.group(cls=VerbGroup)
def audit() -> None:
    """Show who ran which verb, and check that no row was changed."""


@audit.command("list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, help="Number of rows, the newest first.")
@json_option
def audit_list(limit: int) -> None:
    """List the last rows: when, who, verb, arguments, outcome."""
    from infra.control.audit import last_rows

    emit(last_rows(load_settings(), limit), _print_rows)


@audit.command("verify")
@json_option
def audit_verify() -> int:
    """Follow the chain of hashes; exit 1 and name the first bad row.

    It finds a row that was changed, removed or moved, and rows that are gone from the end. Only those since the last
    publication can be cut off unseen, with their commits and checksums: copy the printed head to another machine.
    """
    from infra.control.audit import verify
    from infra.control.publications import audit_heads

    settings = load_settings()
    check = verify(settings, audit_heads(settings))
    emit(check, _print_check)
    return 1 if check.broken else 0


def _print_rows(rows: Sequence[AuditRow]) -> None:
    columns = ["row", "at", "who", "approved by", "verb", "arguments", "outcome"]
    entries = [(row.seq, row.entry) for row in rows]
    cells = [(seq, e["at"], e["who"], e["approved_by"], e["verb"], e["arguments"], _outcome(e)) for seq, e in entries]
    table("", columns, cells, ids=["row"])


def _outcome(entry: Mapping[str, Any]) -> str:
    return "begins" if entry["state"] == "begin" else f"exit {entry['exit']} {entry['error']}".rstrip()


def _print_check(check: AuditCheck) -> None:
    line(f"{check.rows:,} rows checked, {'the next one breaks the chain' if check.broken else 'the chain is intact'}")
    if check.rows:
        line(f"head      row {check.rows}, {check.hash}")
    if check.broken:
        line(f"broken    {check.broken}")


COMMANDS = [audit]
