"""The verbs of upkeep: tidy, rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cli.batch import print_batch
from cli.options import catalog, json_option, settings
from cli.output import emit, out

if TYPE_CHECKING:
    from serving.cleanup import CleanupResult


@click.command()
@json_option
def rebuild() -> None:
    """Brings lake, checkpoints and served views back from Kafka alone."""
    from flows.restore import restore as bring_back

    found = settings()

    def human(done: Any) -> None:
        print_batch(done.batch)
        out().print(done.line)

    emit(bring_back(found, catalog(found)), human)


@click.command()
@json_option
def tidy() -> None:
    """Frees builds and archives that nothing names any more, and sums up the small tables."""
    from flows.cleanup import clean_up as free

    found = settings()
    emit(free(found, catalog(found)), _print_tidied)


def _print_tidied(done: CleanupResult) -> None:
    for path in done.removed:
        out().print(f"removed  {path}", markup=False, highlight=False)
    out().print(f"{len(done.removed)} folders removed · {done.bytes / 2**20:,.1f} MiB freed")


COMMANDS = [tidy, rebuild]
