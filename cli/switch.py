"""The verbs that change what is served: switch, rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.compare import print_comparisons
from cli.options import archive_option, catalog, json_option, settings
from cli.output import emit, out, table
from core.identifiers import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flows.switch import SwitchResult
    from flows.switch_plan import KappaPlan, LambdaPlan
    from infra.control.publications import Publication as Publication


@click.group()
def switch() -> None:
    """Switches what is served: kappa or lambda."""


@switch.command("kappa")
@click.option("--plan", is_flag=True, help="Only say what would happen.")
@click.option("--run", type=Name, help="The run to serve (default: the replay that was begun, else a new one).")
@click.option("--rate", type=click.IntRange(min=1), help="Most records a second.")
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
        emit(switch_plan.to_kappa(found, known, run, from_archive=from_archive), _print_kappa_plan)
        return
    emit(flow.to_kappa(found, known, run=run, rate=rate, from_archive=from_archive, why=why), _print_switched)


@switch.command("lambda")
@click.option("--plan", is_flag=True, help="Only say what would happen.")
@click.option("--why", default="lk switch lambda", help="Recorded with the publication.")
@json_option
def switch_lambda(plan: bool, why: str) -> None:
    """Builds at a cut of the run that serves, and serves the build with what follows."""
    from cli.batch import print_batch
    from flows import switch as flow
    from flows import switch_plan

    found = settings()
    known = catalog(found)
    if plan:
        emit(switch_plan.to_lambda(found, known), _print_lambda_plan)
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


def _print_switched(done: SwitchResult) -> None:
    if done.comparisons:
        print_comparisons(done.comparisons)
    word = "already served" if done.already else "served"
    out().print(f"kappa · run {done.run} is {word} · publication {done.publication.seq} · {done.seconds:.1f} s")


def _print_publication(done: Publication) -> None:
    pins = ", ".join(f"{view}: {pin.mode} {pin.build or ''} {pin.run or ''}" for view, pin in done.pins.items())
    out().print(f"{done.kind} · publication {done.seq} · {pins}")


def _print_kappa_plan(found: KappaPlan) -> None:
    """For `lk switch kappa --plan`."""
    _print_logs(found)
    lines = [
        f"{found.records:,} records to replay"
        + (f", by run {found.run}, which was begun" if found.run else ", by a new run"),
        f"measured: {found.measured[1]:,.0f} records/s (run {found.measured[0]})"
        if found.measured
        else "no replay was measured here yet",
        *_expected(found, "as the run that serves"),
        f"compared in full: {', '.join(found.compared)}",
    ]
    _print_lines(found, lines)


def _print_lambda_plan(found: LambdaPlan) -> None:
    """For `lk switch lambda --plan`."""
    _print_logs(found)
    lines = [
        f"{found.to_land:,} records to land, {found.records:,} to build from",
        f"measured: build {found.measured}" if found.measured else "no full build is there to measure by",
        *_expected(found, "as that build, for so many records"),
        f"built in full: {', '.join(found.built)}",
        f"run {found.run} goes on and serves what follows the build's cut" if found.run else "the build serves alone",
    ]
    _print_lines(found, lines)


def _print_logs(found: KappaPlan | LambdaPlan) -> None:
    rows = [(log.topic, log.partition, log.begin, log.end, log.archived, log.complete) for log in found.logs]
    table(f"{found.mode} serves", ["topic", "partition", "first offset", "end", "archived", "complete from 0"], rows)


def _expected(found: KappaPlan | LambdaPlan, like: str) -> list[str]:
    return [
        f"expected: {found.seconds:,.0f} s" if found.seconds is not None else "expected time: unknown",
        f"expected disk: {found.bytes / 2**20:,.0f} MiB, {like}"
        if found.bytes is not None
        else "expected disk: unknown",
    ]


def _print_lines(found: KappaPlan | LambdaPlan, lines: Sequence[str]) -> None:
    rest = [f"not switched: {view}: {why}" for view, why in found.unswitched.items()]
    text = "\n".join([*lines, *rest, f"readers see {found.readers}"])
    out().print(text, markup=False, highlight=False)


COMMANDS = [switch, rollback]
