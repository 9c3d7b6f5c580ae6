"""The verbs of a replay: start, run, status, wait, throttle, abandon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import archive_option, catalog, json_option, names, settings
from cli.output import emit, out
from cli.runs import print_ending
from core.identifiers import Name

if TYPE_CHECKING:
    from infra.control.publications import Publication as Publication
    from speed.replay_state import ReplayProgress

_RUN = click.option("--run", type=Name, help="The run (default: the replay that is not finished).")
_RATE = click.option("--rate", type=click.IntRange(min=1), help="Most records a second.")


@click.group()
def replay() -> None:
    """The log from offset zero as a new run: start, status, wait, throttle, abandon (and `run`, in the foreground)."""


@replay.command("start")
@click.option("--run", type=Name, help="The new run's id (default: the next free one).")
@click.option("--views", type=names, help="Only these views (a,b); the others keep what they serve.")
@_RATE
@archive_option
@json_option
def replay_start(run: Name | None, views: tuple[Name, ...] | None, rate: int | None, from_archive: bool) -> None:
    """Starts a replay in the background, or goes on with the one that was begun."""
    from flows import replays as flow

    found = settings()
    state = flow.start(found, catalog(found), run=run, rate=rate, from_archive=from_archive, views=views)
    emit(state, lambda one: out().print(one.line))


@replay.command("run")
@click.option("--run", type=Name, help="The new run's id (default: the next free one).")
@archive_option
def replay_run(run: Name | None, from_archive: bool) -> None:
    """Drives a replay in the foreground until it is told to stop; for clusters."""
    from flows import replays as flow

    found = settings()
    flow.drive(found, catalog(found), run=run, from_archive=from_archive)


@replay.command("status")
@_RUN
@json_option
def replay_status(run: Name | None) -> None:
    """Says how far a replay is, how fast it reads and how long it will take."""
    from flows import replays as flow

    emit(flow.status(settings(), run), _print_progress)


@replay.command("wait")
@_RUN
@click.option("--seconds", type=float, help="Give up after so long (exit 75).")
@json_option
def replay_wait(run: Name | None, seconds: float | None) -> None:
    """Waits until a replay has caught up with the log."""
    from flows import replays as flow

    emit(flow.wait(settings(), run, patience=seconds), _print_progress)


@replay.command("throttle")
@_RUN
@click.option(
    "--rate", type=click.IntRange(min=0), required=True, help="Most records a second; 0 takes the limit away."
)
@json_option
def replay_throttle(run: Name | None, rate: int) -> None:
    """Changes how fast a replay may read, while it runs."""
    from flows import replays as flow

    emit(flow.limit(settings(), rate or None, run), _print_progress)


@replay.command("abandon")
@_RUN
@json_option
def replay_abandon(run: Name | None) -> None:
    """Stops a replay that never served, and frees what it held."""
    from flows import replays as flow

    emit(flow.abandon(settings(), run), print_ending)


def _print_progress(seen: ReplayProgress) -> None:
    parts = [seen.state.line, f"{seen.done:,} of {seen.total:,} records"]
    parts += [f"{seen.rate:,.0f} records/s"] if seen.rate else []
    parts += [f"limited to {seen.limit:,}/s"] if seen.limit else []
    parts += [f"{seen.left:,.0f} s left"] if seen.left and not seen.caught_up else []
    parts += [f"head from the archive up to {seen.head}"] if seen.head.ends else []
    out().print(" · ".join([*parts, "caught up" if seen.caught_up else "behind"]))


COMMANDS = [replay]
