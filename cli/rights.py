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

    from flows.rights import AppliedRights
    from infra.kafka.acls import RightState


@click.group(cls=VerbGroup, invoke_without_command=True)
@json_option
@click.pass_context
def rights(ctx: click.Context) -> None:
    """List the rights in Kafka, and whether each is set."""
    from infra.kafka.acls import right_states

    if ctx.invoked_subcommand is None:
        emit(right_states(load_settings()), _print_states)


@rights.command("apply")
@click.option(
    "--quotas",
    is_flag=True,
    help="Set the quotas too. The quota for each user then holds for every user of the cluster "
    "without a quota of its own.",
)
@json_option
@audited(begins=True)
def apply(quotas: bool) -> None:
    """Make the cluster's ACLs those of infra/kafka/access.toml.

    `lk up` does it at each start of a secured instance, and sets the quotas too. ACLs of principals that the file does
    not name stay, and so do the rights of routes to write to their outputs. Refused where all verbs log in as one
    user: that user would lose its rights.
    """
    from flows.rights import apply_access

    emit(apply_access(load_settings(), with_quotas=quotas), _print_change)


def _print_states(states: Sequence[RightState]) -> None:
    listed = [(state.right, state.state) for state in states]
    rows = [(r.principal, r.resource, r.name, r.operation, r.permission.lower(), state) for r, state in listed]
    table("", ["principal", "resource", "name", "operation", "permission", "cluster"], rows)
    if any(state.state != "set" for state in states):
        line("`lk rights apply` sets what is missing and removes what is not declared, on brokers with an authorizer")


def _print_change(change: AppliedRights) -> None:
    line(f"{change.added} rights added, {change.removed} removed; {change.quotas or 'no'} quotas set")


COMMANDS = [rights]
