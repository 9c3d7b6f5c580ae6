"""The verbs of every day's upkeep: drift, tidy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out
from cli.switch import print_comparisons

if TYPE_CHECKING:
    from serving.cleanup import CleanupResult


@click.command()
@json_option
def drift() -> int:
    """Compares what is served, build and partials, with a full build, cell by cell; exit 1 if one differs."""
    from flows.verify import verify_served as compare

    found = settings()
    done = compare(found, catalog(found))
    emit(done, print_comparisons)
    return 0 if all(one.equal for one in done) else 1


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


COMMANDS = [drift, tidy]
