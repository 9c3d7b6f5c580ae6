"""The verbs that switch between Kappa and Lambda: switch, rollback."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.batch import print_batch
from cli.compare import print_comparisons
from cli.options import RATE, archive_option, json_option, load_catalog, load_settings, load_usable, run_option
from cli.output import emit, line, table
from cli.verb_group import VerbGroup
from core.errors import Refused, Usage
from core.evidence.quantity import mebibytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.identifiers import Name
    from flows.switch import SwitchResult
    from flows.switch_in_place import SwitchedInPlace
    from flows.switch_plan import KappaPlan, LambdaPlan
    from infra.control.publications import Publication

_LOSS = "readers see less than before until the whole log has been read again"
_PLAN = click.option("--plan", is_flag=True, help="Only print what would happen.")


@click.group(cls=VerbGroup)
def switch() -> None:
    """Switch what is served to Kappa or to Lambda."""


@switch.command("kappa")
@_PLAN
@run_option("The run to serve (default: the replay in progress, else a new one).")
@RATE
@archive_option
@click.option("--in-place", is_flag=True, help="Stop the run that serves first: one set of tables, but an outage.")
@click.option("--yes", is_flag=True, help="With --in-place: do not ask for confirmation.")
@click.option("--why", help="Recorded with the publication (default: the command).")
@json_option
@audited(changes_served=True)
def switch_kappa(
    plan: bool, run: Name | None, rate: int | None, from_archive: bool, in_place: bool, yes: bool, why: str | None
) -> None:
    """Replay the log, prove the replay equal to a build, serve it.

    With --in-place: stop the run that serves and serve the replay at once, without a proof. Readers see less than
    before until the whole log has been read again; the length of this outage is printed.
    """
    import flows.switch
    from flows import switch_plan
    from flows.switch_in_place import switch_in_place

    if in_place and (plan or run or rate):
        raise Usage("--in-place goes with --prefix-from-archive, --yes and --why only", fix="leave out the others")
    if yes and not in_place:
        raise Usage("--yes needs --in-place", fix="see `lk switch kappa --help`")
    settings = load_settings()
    catalog = load_catalog(settings)
    if in_place:
        if not yes:
            _confirm_outage()
        why = why or "lk switch kappa --in-place"
        emit(switch_in_place(settings, catalog, from_archive=from_archive, why=why), _print_in_place)
        return
    if plan:
        emit(switch_plan.plan_kappa(settings, catalog, run, from_archive=from_archive), _print_kappa_plan)
        return
    why = why or "lk switch kappa"
    result = flows.switch.to_kappa(settings, catalog, run=run, rate=rate, from_archive=from_archive, why=why)
    emit(result, _print_switched)


@switch.command("lambda")
@_PLAN
@click.option("--why", default="lk switch lambda", help="Recorded with the publication.")
@json_option
@audited(changes_served=True)
def switch_lambda(plan: bool, why: str) -> None:
    """Build at a cut of the serving run; serve the build and the run."""
    import flows.switch
    from flows import switch_plan

    settings = load_settings()
    catalog = load_catalog(settings)
    if plan:
        emit(switch_plan.plan_lambda(settings, catalog), _print_lambda_plan)
        return
    emit(flows.switch.to_lambda(settings, catalog, why=why), print_batch)


@click.command()
@click.option("--from", "leaving", type=int, help="The publication to go back from (default: the one that is served).")
@click.option("--why", default="lk rollback", help="Recorded with the publication.")
@json_option
@audited(changes_served=True)
def rollback(leaving: int | None, why: str) -> None:
    """Serve again what was served before the last change.

    With --from it can be repeated safely.
    """
    import flows.switch
    from flows import needed_definitions

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_rollback(settings))
    emit(flows.switch.rollback(settings, catalog, why=why, leaving=leaving), _print_publication)


def _confirm_outage() -> None:
    if not sys.stdin.isatty():
        fix = "`lk switch kappa` has no outage; add --yes if readers can wait"
        raise Refused(_LOSS, where="--in-place", fix=fix)
    click.confirm(f"{_LOSS}. Continue?", abort=True, err=True)


def _print_in_place(result: SwitchedInPlace) -> None:
    state = "was switched in place already" if result.already else "has caught up"
    publication = result.publication.seq
    line(f"kappa · run {result.run} {state} · publication {publication} · outage {result.outage:.1f} s")


def _print_switched(result: SwitchResult) -> None:
    if result.comparisons:
        print_comparisons(result.comparisons)
    state = "already served" if result.already else "served"
    line(f"kappa · run {result.run} is {state} · publication {result.publication.seq} · {result.seconds:.1f} s")


def _print_publication(publication: Publication) -> None:
    pins = [(view, pin.mode, pin.build or "", pin.run or "") for view, pin in publication.pins.items()]
    views = ", ".join(f"{view}: {mode} {build} {run}" for view, mode, build, run in pins)
    line(f"{publication.kind} · publication {publication.seq} · {views}")


def _print_kappa_plan(plan: KappaPlan) -> None:
    run = f"by run {plan.run}, which was started before" if plan.run else "by a new run"
    _print_plan(
        plan,
        f"{plan.records:,} records to replay, {run}",
        f"measured: {plan.measured[1]:,.0f} records/s (run {plan.measured[0]})"
        if plan.measured
        else "no replay was measured here yet",
        *_estimates(plan, "as the run that serves"),
        f"compared in full: {', '.join(plan.compared)}",
    )


def _print_lambda_plan(plan: LambdaPlan) -> None:
    _print_plan(
        plan,
        f"{plan.to_land:,} records to land, {plan.records:,} to build from",
        f"measured: build {plan.measured}" if plan.measured else "no full build was measured here yet",
        *_estimates(plan, "as that build, for this number of records"),
        f"built in full: {', '.join(plan.built)}",
        f"run {plan.run} continues and serves what follows the build's cut" if plan.run else "the build serves alone",
    )


def _estimates(plan: KappaPlan | LambdaPlan, basis: str) -> Sequence[str]:
    size = f"{mebibytes(plan.bytes)}, {basis}" if plan.bytes is not None else "unknown"
    seconds = f"{plan.seconds:,.0f} s" if plan.seconds is not None else "unknown"
    return f"expected time: {seconds}", f"expected disk: {size}"


def _print_plan(plan: KappaPlan | LambdaPlan, *lines: str) -> None:
    columns = ["topic", "partition", "first offset", "end offset", "archived", "complete from 0"]
    rows = [(log.topic, log.partition, log.begin, log.end, log.archived, log.complete) for log in plan.logs]
    table(f"{plan.mode} serves", columns, rows, ids=["first offset", "end offset"])
    for text in (*lines, *(f"not switched: {view}: {why}" for view, why in plan.unswitched.items())):
        line(text)
    line(f"readers see {plan.readers}")


COMMANDS = [switch, rollback]
