"""The verbs of rights in Kafka: rights, rights apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import json_option, load_settings
from cli.output import emit, line, table
from cli.verb_group import VerbGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.kafka.acls import RightsChange, RightState


@click.group(cls=VerbGroup, invoke_without_command=True)
@json_option
@click.pass_context
def rights(ctx: click.Context) -> None:
    """List the rights in Kafka, and whether each is set."""
    from infra.kafka.acls import right_states

    if ctx.invoked_subcommand is None:
        emit(right_states(load_settings()), _print_states)


@rights.command("apply")
@json_option
@audited(begins=True)
def apply() -> None:
    """Make the cluster's ACLs those of infra/kafka/access.toml.

    `lk up` does it at each start of a secured instance. ACLs of principals that the file does not name stay, and so do
    the rights of routes to write to their outputs. Refused where all verbs log in as one user: it would have no right.
    """
    from infra.kafka.acls import apply_declared

    emit(apply_declared(load_settings()), _print_change)


def _print_states(states: Sequence[RightState]) -> None:
    listed = [(state.right, state.state) for state in states]
    rows = [(r.principal, r.resource, r.name, r.operation, r.permission.lower(), state) for r, state in listed]
    table("", ["principal", "resource", "name", "operation", "permission", "cluster"], rows)
    if any(state.state != "set" for state in states):
        line("`lk rights apply` sets what is missing and removes what is not declared, on brokers with an authorizer")


def _print_change(change: RightsChange) -> None:
    line(f"{change.added} rights added, {change.removed} removed")


COMMANDS = [rights]
