"""The verb that compares views cell by cell: compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import json_option, load_catalog, load_settings, run_option
from cli.output import emit, line, table
from cli.row_table import Side, print_differing_rows
from core.errors import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.compute.row_pairs import Row
    from core.identifiers import Name
    from infra.control.comparisons import Comparison


@click.command()
@run_option()
@click.option("--served", is_flag=True, help="Compare what is served: builds and partial rows together.")
@json_option
@audited()
def compare(run: Name | None, served: bool) -> int:
    """Compare a run with a full build; exit 1 if a cell differs.

    Builds every view at the end of an epoch of the run, and compares the two cell by cell. With --served it compares
    what readers see, merged from builds and partial rows, with a full build at the same offsets.
    """
    from flows import replays, switch
    from flows.compare_served import compare_served_views

    if served and run:
        raise Usage("--served compares what is served, --run a run", fix="leave out one of them")
    settings = load_settings()
    catalog = load_catalog(settings)
    if served:
        comparisons: Sequence[Comparison] = compare_served_views(settings, catalog)
    else:
        comparisons = switch.prove_equal(settings, catalog, run or replays.chosen_run(settings, run))
    emit(comparisons, print_comparisons)
    return 0 if all(comparison.equal for comparison in comparisons) else 1


def print_comparisons(comparisons: Sequence[Comparison]) -> None:
    """The result of a comparison, view by view."""
    rows = [
        (c.view, c.keys, c.only_build, c.only_run, c.repeated, c.cells, c.trino, f"{c.seconds:.1f} s", c.equal)
        for c in comparisons
    ]
    columns = ["view", "keys", "only in build", "only in run", "twice", "cells that differ", "Trino agrees", "time"]
    first = comparisons[0]
    table(f"run {first.run} against build {first.build}, at epoch {first.epoch}", [*columns, "equal"], rows)
    if first.prefix.ends:
        line(f"the prefix up to {first.prefix} was read from the archive, not from the log")
    for comparison in comparisons:
        if comparison.first:
            _print_first_differences(comparison)
        elif not comparison.equal:
            line(f"{comparison.view}: equal in Spark, but Trino's count or hash differs")


def _print_first_differences(comparison: Comparison) -> None:
    def side(name: str, key: Row, cells: Row | None, count: int) -> Side:
        return Side(name, None if cells is None else {**key, **cells}, count)

    pairs = [
        (side("build", row.key, row.build, row.n_build), side("run", row.key, row.run, row.n_run))
        for row in comparison.first
    ]
    print_differing_rows(f"{comparison.view}, the first rows that differ", list(comparison.first[0].key), pairs)


COMMANDS = [compare]
