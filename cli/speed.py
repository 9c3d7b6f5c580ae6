"""The verbs of the speed layer: start, stop, status, run."""

from __future__ import annotations

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out


@click.group()
def speed() -> None:
    """The speed layer: start, stop, status (and `run`, which stays in the foreground)."""


@speed.command("start")
@click.option(
    "--new",
    is_flag=True,
    help="A new run, from the published cut, or from 0 if there is none; from a build of changed views.",
)
@json_option
def speed_start(new: bool) -> None:
    """Resumes the last run, or starts the first one."""
    from flows import speed as flow

    found = settings()
    emit(flow.start(found, catalog(found), new=new), lambda state: out().print(state.line))


@speed.command("stop")
@json_option
def speed_stop() -> None:
    """Stops the run between two epochs."""
    from flows import speed as flow

    emit(flow.stop(settings()), lambda state: out().print(state.line))


@speed.command("status")
@json_option
def speed_status() -> None:
    """Says what the last run does, and how far it is behind the log."""
    from speed.process import lifecycle

    emit(lifecycle.status(settings()), lambda state: out().print(state.line))


@speed.command("run")
@click.argument("run")
def speed_run(run: str) -> None:
    """Drives RUN in the foreground until it is told to stop; for clusters and for `speed start`."""
    from core.identifiers import Name
    from speed import job

    found = settings()
    job.run_forever(found, catalog(found), Name(run))


COMMANDS = [speed]
