"""The verbs of the switch: replay, compare, switch, rollback, runs, retire."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import archive_option, catalog, json_option, names, settings
from cli.output import emit, out, table
from cli.switch_plan import print_kappa_plan, print_lambda_plan
from core.identifiers import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.run_summaries import RunSummary
    from flows.switch import SwitchResult
    from infra.control.comparisons import Comparison
    from infra.control.publications import Publication as Publication
    from infra.control.run_endings import RunEnding
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

    emit(flow.abandon(settings(), run), _print_ending)


@click.command()
@_RUN
@json_option
def compare(run: Name | None) -> int:
    """Builds every view at the end of an epoch of a run, and compares them cell by cell; exit 1 if one differs."""
    from flows import replays as flow
    from flows import switch

    found = settings()
    done = switch.prove_equal(found, catalog(found), run or flow.chosen(found, run))
    emit(done, print_comparisons)
    return 0 if all(one.equal for one in done) else 1


@click.group()
def switch() -> None:
    """Switches what is served: kappa or lambda."""


@switch.command("kappa")
@click.option("--plan", is_flag=True, help="Only say what would happen.")
@click.option("--run", type=Name, help="The run to serve (default: the replay that was begun, else a new one).")
@_RATE
@archive_option
@click.option("--why", default="lk switch kappa", help="Recorded with the publication.")
@json_option
def switch_kappa(plan: bool, run: Name | None, rate: int | None, from_archive: bool, why: str) -> None:
    """Replays the log from offset zero, proves the replay equal to a build, then serves it."""
    from flows import switch as flow
    from flows import switch_plan

    found = settings()
    known = catalog(found)
    if plan:
        emit(switch_plan.to_kappa(found, known, run, from_archive=from_archive), print_kappa_plan)
        return
    emit(flow.to_kappa(found, known, run=run, rate=rate, from_archive=from_archive, why=why), _print_switched)


@switch.command("lambda")
@click.option("--plan", is_flag=True, help="Only say what would happen.")
@click.option("--why", default="lk switch lambda", help="Recorded with the publication.")
@json_option
def switch_lambda(plan: bool, why: str) -> None:
    """Builds at a cut of the run that serves, and serves the build with what follows."""
    from cli.layers import print_batch
    from flows import switch as flow
    from flows import switch_plan

    found = settings()
    known = catalog(found)
    if plan:
        emit(switch_plan.to_lambda(found, known), print_lambda_plan)
        return
    emit(flow.to_lambda(found, known, why=why), print_batch)


@click.command()
@click.option("--from", "leaving", type=int, help="The publication to go back from (default: the one that is served).")
@click.option("--why", default="lk rollback", help="Recorded with the publication.")
@json_option
def rollback(leaving: int | None, why: str) -> None:
    """Serves again what was served before the last change, at once; with --from it can be repeated safely."""
    from flows import switch as flow

    found = settings()
    emit(flow.rollback(found, catalog(found), why=why, leaving=leaving), _print_publication)


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

    emit(end(settings(), run, final=final, why=why), _print_ending)


def _print_progress(seen: ReplayProgress) -> None:
    parts = [seen.state.line, f"{seen.done:,} of {seen.total:,} records"]
    parts += [f"{seen.rate:,.0f} records/s"] if seen.rate else []
    parts += [f"limited to {seen.limit:,}/s"] if seen.limit else []
    parts += [f"{seen.left:,.0f} s left"] if seen.left and not seen.caught_up else []
    parts += [f"head from the archive up to {seen.head}"] if seen.head.ends else []
    out().print(" · ".join([*parts, "caught up" if seen.caught_up else "behind"]))


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


def _print_switched(done: SwitchResult) -> None:
    if done.comparisons:
        print_comparisons(done.comparisons)
    word = "already served" if done.already else "served"
    out().print(f"kappa · run {done.run} is {word} · publication {done.publication.seq} · {done.seconds:.1f} s")


def _print_publication(done: Publication) -> None:
    pins = ", ".join(f"{view}: {pin.mode} {pin.build or ''} {pin.run or ''}" for view, pin in done.pins.items())
    out().print(f"{done.kind} · publication {done.seq} · {pins}")


def _print_runs(found: Sequence[RunSummary]) -> None:
    rows = [(r.run, r.role, r.kind, r.process, r.epoch, r.records, r.behind, r.created_at, r.note) for r in found]
    columns = ["run", "role", "kind", "process", "epoch", "records", "behind", "created", "note"]
    table("", columns, rows)


def _print_ending(done: RunEnding) -> None:
    out().print(f"run {done.run} was {done.how} · {done.why}")


COMMANDS = [replay, compare, switch, rollback, runs, retire]
