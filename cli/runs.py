"""The verbs of runs: runs, retire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli import candidates
from cli.audited import audited
from cli.options import json_option, load_settings
from cli.output import emit, line, table
from core.identifiers import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.run_summaries import RunSummary
    from infra.control.run_endings import RunEnding


@click.command()
@json_option
def runs() -> None:
    """List the runs: role, process, epoch, lag."""
    from flows.run_summaries import run_summaries

    emit(run_summaries(load_settings()), _print_runs)


@click.command()
@click.argument("run", type=Name, shell_complete=candidates.runs)
@click.option("--final", is_flag=True, help="Retire it even if `lk rollback` would serve it again.")
@click.option("--why", default="lk retire", help="Recorded with the run.")
@json_option
@audited(begins=True)
def retire(run: Name, final: bool, why: str) -> None:
    """Stop RUN and delete its tables and its checkpoint.

    Its id is not used again.
    """
    from flows import run_summaries

    emit(run_summaries.retire(load_settings(), run, final=final, why=why), print_ending)


def _print_runs(summaries: Sequence[RunSummary]) -> None:
    rows = [(s.run, s.role, s.kind, s.process, s.epoch, s.records, s.behind, s.created_at, s.note) for s in summaries]
    columns = ["run", "role", "kind", "process", "epoch", "records", "lag", "created", "note"]
    table("", columns, rows, ids=["epoch"])


def print_ending(ending: RunEnding) -> None:
    """How and why a run ended."""
    line(f"run {ending.run} was {ending.how} · {ending.why}")


COMMANDS = [runs, retire]
