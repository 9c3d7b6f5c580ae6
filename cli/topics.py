"""The verb of the cluster's topics: topics apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.kafka.topics import Applied


@click.group()
def topics() -> None:
    """The topics of the cluster."""


@topics.command("apply")
@json_option
def apply() -> None:
    """Makes the cluster's topics what their files say: missing ones are made, others changed; none is ever shrunk."""
    from infra.kafka import topics as cluster

    found = settings()
    emit(cluster.apply(found, catalog(found)), _print)


def _print(done: Sequence[Applied]) -> None:
    table("topics", ["topic", "done", "changes"], [(one.topic, one.done, ", ".join(one.changes)) for one in done])


COMMANDS = [topics]
