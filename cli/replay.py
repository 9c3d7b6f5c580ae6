"""The verbs of a replay: start, run, status, wait, throttle, abandon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import RATE, archive_option, json_option, load_needed_or_all, load_settings, run_option, views_option
from cli.output import emit, line
from cli.runs import print_ending
from cli.verb_group import VerbGroup
from core.identifiers import Name

if TYPE_CHECKING:
    from speed.process.lifecycle import RunState
    from speed.replay_state import ReplayProgress

_RUN = run_option()
_NEW_RUN = click.option("--run", type=Name, help="Id of the new run (default: the next free one).")


@click.group(cls=VerbGroup)
def replay() -> None:
    """Read the log again from offset 0, as a new run."""


@replay.command("start")
@_NEW_RUN
@views_option("Only these views (a,b); the others keep what they serve.")
@RATE
@archive_option
@json_option
@audited()
def replay_start(run: Name | None, views: tuple[Name, ...] | None, rate: int | None, from_archive: bool) -> None:
    """Start a replay in the background, or resume the open one."""
    from flows import needed_definitions, replays

    settings = load_settings()
    needed = needed_definitions.of_views(views) if views else needed_definitions.of_open_replay(settings)
    catalog = load_needed_or_all(settings, needed)
    emit(replays.start(settings, catalog, run=run, rate=rate, from_archive=from_archive, views=views), _print_state)


@replay.command("run")
@_NEW_RUN
@archive_option
@json_option
@audited()
def replay_run(run: Name | None, from_archive: bool) -> None:
    """Run a replay in the foreground until SIGTERM, for clusters."""
    from flows import needed_definitions, replays

    settings = load_settings()
    catalog = load_needed_or_all(settings, needed_definitions.of_open_replay(settings))
    emit(replays.run_replay(settings, catalog, run=run, from_archive=from_archive), lambda _: None)


@replay.command("status")
@_RUN
@json_option
def replay_status(run: Name | None) -> None:
    """Show how far a replay is, its rate and the time left."""
    from flows import replays

    emit(replays.status(load_settings(), run), _print_progress)


@replay.command("wait")
@_RUN
@click.option("--seconds", type=float, help="Stop waiting after this long (exit 75).")
@json_option
def replay_wait(run: Name | None, seconds: float | None) -> None:
    """Wait until a replay has caught up with the log."""
    from flows import replays

    emit(replays.wait(load_settings(), run, patience=seconds), _print_progress)


@replay.command("throttle")
@_RUN
@click.option(
    "--rate", type=click.IntRange(min=0), required=True, help="Maximum records per second; 0 removes the limit."
)
@json_option
@audited()
def replay_throttle(run: Name | None, rate: int) -> None:
    """Change the rate of a replay while it runs."""
    from flows import replays

    emit(replays.set_rate(load_settings(), rate or None, run), _print_progress)


@replay.command("abandon")
@_RUN
@json_option
@audited(begins=True)
def replay_abandon(run: Name | None) -> None:
    """Stop a replay that never served, and delete its tables."""
    from flows import replays

    emit(replays.abandon(load_settings(), run), print_ending)


def _print_state(state: RunState) -> None:
    line(state.line)


def _print_progress(progress: ReplayProgress) -> None:
    parts = [progress.state.line, f"{progress.read:,} of {progress.total:,} records"]
    parts += [f"{progress.rate:,.0f} records/s"] if progress.rate else []
    parts += [f"limited to {progress.limit:,}/s"] if progress.limit else []
    parts += [f"{progress.left:,.0f} s left"] if progress.left and not progress.caught_up else []
    parts += [f"prefix from the archive up to {progress.prefix}"] if progress.prefix.ends else []
    line(" · ".join([*parts, "caught up" if progress.caught_up else "behind"]))


COMMANDS = [replay]
