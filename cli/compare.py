"""The verbs that compare two computations of the same views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out, table
from core.identifiers import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.control.comparisons import Comparison
    from infra.control.publications import Publication as Publication


@click.command()
@click.option("--run", type=Name, help="The run (default: the replay that is not finished).")
@json_option
def compare(run: Name | None) -> int:
    """Builds every view at the end of an epoch of a run, and compares them cell by cell; exit 1 if one differs."""
    from flows import replays as flow
    from flows import switch

    found = settings()
    done = switch.prove_equal(found, catalog(found), run or flow.chosen(found, run))
    emit(done, print_comparisons)
    return 0 if all(one.equal for one in done) else 1


@click.command()
@json_option
def drift() -> int:
    """Compares what is served, build and partials, with a full build, cell by cell; exit 1 if one differs."""
    from flows.verify import verify_served as compare

    found = settings()
    done = compare(found, catalog(found))
    emit(done, print_comparisons)
    return 0 if all(one.equal for one in done) else 1


def print_comparisons(found: Sequence[Comparison]) -> None:
    """What a comparison found, view by view."""
    rows = [
        (c.view, c.keys, c.only_build, c.only_run, c.repeated, c.cells, c.trino, f"{c.seconds:.1f} s", c.equal)
        for c in found
    ]
    columns = ["view", "keys", "only in build", "only in run", "twice", "cells that differ", "Trino agrees", "time"]
    first = found[0]
    table(f"run {first.run} against build {first.build}, at epoch {first.epoch}", [*columns, "equal"], rows)
    if first.head.ends:
        out().print(f"the head up to {first.head} was read from the archive, not from the log")
    for one in found:
        if not one.equal:
            out().print(f"{one.view}: first differences: {one.first}", markup=False, highlight=False)


COMMANDS = [compare, drift]
