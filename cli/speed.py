"""The verbs of the speed layer: start, stop, status, run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli import candidates
from cli.audited import audited
from cli.options import (
    OLD_STEPS_OPTION,
    STEPS_OPTION,
    json_option,
    load_needed_or_all,
    load_settings,
    load_usable,
    renamed_flag,
)
from cli.output import emit, line, table
from cli.verb_group import VerbGroup
from core.identifiers import Name

if TYPE_CHECKING:
    from speed.process.lifecycle import RunState


@click.group(cls=VerbGroup)
def speed() -> None:
    """Start, stop and show the streaming job."""


@speed.command("start")
@click.option(
    "--new",
    is_flag=True,
    help="Start a new run from the published cut (from offset 0 if nothing is published). If the definition of a "
    "served view has changed, a full build is made first, and the run starts from its cut. Run again, it goes on with "
    "a run that has not served yet.",
)
@json_option
@audited(changes_served=True)
def speed_start(new: bool) -> None:
    """Resume the current run, or start the first one.

    The current run is the newest that serves. If none serves, it is the newest that `lk rollback` would serve, else the
    newest other one. A replay in progress is never the current run.
    """
    from flows import needed_definitions
    from flows.speed import start

    settings = load_settings()
    needed = () if new else needed_definitions.of_current_run(settings)
    emit(start(settings, load_needed_or_all(settings, needed), new=new), _print_state)


@speed.command("stop")
@json_option
@audited()
def speed_stop() -> None:
    """Stop every run, each between two epochs."""
    from flows.speed import stop

    emit(stop(load_settings()), _print_state)


@speed.command("status")
@click.option(STEPS_OPTION, "steps", is_flag=True, help="Show time and CPU of each step of the last 100 epochs.")
@renamed_flag(OLD_STEPS_OPTION, STEPS_OPTION)
@json_option
def speed_status(steps: bool) -> None:
    """Show the state of the current run and how far it is behind.

    `lk speed start --help` says which run is the current one.
    """
    from flows.speed import status

    settings = load_settings()
    emit(status(settings, load_usable(settings)), _print_steps if steps else _print_state)


@speed.command("run")
@click.argument("run", type=Name, shell_complete=candidates.runs)
@json_option
@audited()
def speed_run(run: Name) -> None:
    """Run RUN in the foreground until SIGTERM, for clusters."""
    from flows import needed_definitions
    from speed import job
    from speed.process import lifecycle

    settings = load_settings()
    job.run_forever(settings, load_usable(settings, *needed_definitions.of_run(settings, run)), run)
    emit(lifecycle.status(settings, run), lambda _: None)


def _print_state(state: RunState) -> None:
    line(state.line)
    for warning in state.warnings:
        line(f"warning: {warning}")


def _print_steps(state: RunState) -> None:
    _print_state(state)
    if not state.steps:
        line("no epoch was measured yet")
        return
    rows = [(step, f"{1_000 * times.seconds:,.1f}", f"{1_000 * times.cpu:,.1f}") for step, times in state.steps.items()]
    table("one epoch: means of the last 100", ["step", "time (ms)", "CPU (ms)"], rows)


COMMANDS = [speed]
