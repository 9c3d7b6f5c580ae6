"""The verbs of runs: runs, retire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import json_option, settings
from cli.output import emit, out, table
from core.identifiers import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.run_summaries import RunSummary
    from infra.control.publications import Publication as Publication
    from infra.control.run_endings import RunEnding


@click.command()
@json_option
def runs() -> None:
    """Lists every run: what it is for, how far it is."""
    from flows.run_summaries import run_summaries

    emit(run_summaries(settings()), _print_runs)


@click.command()
@click.argument("run", type=Name)
@click.option("--final", is_flag=True, help="Also give up going back to it with `lk rollback`.")
@click.option("--why", default="lk retire", help="Recorded with the run.")
@json_option
def retire(run: Name, final: bool, why: str) -> None:
    """Stops RUN and frees its tables and its checkpoint; its id stays used."""
    from flows.run_summaries import retire as end

    emit(end(settings(), run, final=final, why=why), print_ending)


def _print_runs(found: Sequence[RunSummary]) -> None:
    rows = [(r.run, r.role, r.kind, r.process, r.epoch, r.records, r.behind, r.created_at, r.note) for r in found]
    columns = ["run", "role", "kind", "process", "epoch", "records", "behind", "created", "note"]
    table("", columns, rows)


def print_ending(done: RunEnding) -> None:
    """How and why a run ended."""
    out().print(f"run {done.run} was {done.how} · {done.why}")


COMMANDS = [runs, retire]
