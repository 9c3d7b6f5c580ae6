"""The verbs of the batch layer: the whole cycle, or its steps one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.audited import audited
from cli.options import json_option, load_catalog, load_settings, load_usable, moment, views_option
from cli.output import emit, line, table
from cli.quality import print_gate
from core.errors import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from batch.land import Landed
    from core.identifiers import Name
    from flows.batch_cycle import BatchRun
    from infra.control.builds import Built
    from infra.control.claims import Claim
    from infra.control.publications import Publication


_GATE = {None: "not checked", True: "passed", False: "failed"}
_INCREMENTAL = click.option(
    "--incremental", is_flag=True, help="Add the new part of the log to the last build, for views where that is exact."
)


@click.command()
@_INCREMENTAL
@json_option
@audited(changes_served=True)
def batch(incremental: bool) -> None:
    """Run the batch cycle: claim, land, build, gate, publish."""
    from flows.batch_cycle import run_batch

    settings = load_settings()
    emit(run_batch(settings, load_catalog(settings), incremental=incremental), print_batch)


@click.command()
@json_option
@audited()
def claim() -> None:
    """Reserve the end of the last epoch as the cut of a build."""
    import batch.claim

    settings = load_settings()
    emit(batch.claim.claim(settings, load_catalog(settings)), _print_claim)


@click.command()
@click.option("--build", metavar="BUILD", help="The claimed build (default: the last claim).")
@json_option
@audited()
def land(build: str | None) -> None:
    """Copy the log up to the claimed cut into the archive."""
    from flows import batch_cycle, needed_definitions

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_landing(settings, build))
    emit(batch_cycle.land_claim(settings, catalog, build), _print_landed)


@click.command()
@click.option("--build", "name", metavar="BUILD", help="The claimed build (default: the last claim).")
@_INCREMENTAL
@views_option("With --from and --to: compute a time range of these views (a,b) again.")
@click.option("--from", "start", type=moment, metavar="TIME", help="Start of the range, inclusive, UTC.")
@click.option("--to", "end", type=moment, metavar="TIME", help="End of the range, exclusive, UTC.")
@json_option
@audited()
def build(
    name: str | None, incremental: bool, views: tuple[Name, ...] | None, start: datetime | None, end: datetime | None
) -> None:
    """Compute every view up to the claimed cut, or a time range.

    With --views, --from and --to it computes the windows that start in that range again, at the served cut. `lk gate`
    checks the build, `lk publish` serves it.
    """
    from flows import batch_cycle, needed_definitions
    from flows.range_rebuild import rebuild_range

    settings = load_settings()
    if views is None and start is None and end is None:
        catalog = load_usable(settings, *needed_definitions.of_build(settings, name))
        emit(batch_cycle.build_claim(settings, catalog, name, incremental=incremental), _print_built)
        return
    if views is None or start is None or end is None or name or incremental:
        raise Usage("a range needs --views, --from and --to, and nothing else", fix="see `lk build --help`")
    catalog = load_usable(settings, *needed_definitions.of_views(views))
    emit(rebuild_range(settings, catalog, views, start, end), _print_built)


@click.command()
@click.option("--build", metavar="BUILD", help="The build to serve (default: the last claim).")
@click.option("--why", default="lk publish", help="Recorded with the publication.")
@json_option
@audited(changes_served=True)
def publish(build: str | None, why: str) -> None:
    """Serve a build that passed its gate."""
    from flows import batch_cycle, needed_definitions

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_build(settings, build))
    emit(batch_cycle.publish_claim(settings, catalog, build, why=why), _print_publication)


def _print_claim(claim: Claim) -> None:
    line(f"claimed   {claim.build} · cut of {claim.cut.size:,} offsets · {_claimed_end(claim)}")


def _claimed_end(claim: Claim) -> str:
    if claim.run is None:
        return "end of the log"
    return f"end of epoch {claim.epoch} of run {claim.run}" if claim.epoch >= 0 else f"start of run {claim.run}"


def _print_landed(landed: Sequence[Landed]) -> None:
    for topic in landed:
        line(f"landed    {topic.topic} · {topic.records:,} records · {topic.seconds:.1f} s")


def _print_built(built: Sequence[Built]) -> None:
    rows = [(b.view, b.build, b.how, b.rows, f"{b.seconds:.1f} s", _GATE[b.passed]) for b in built]
    table("built", ["view", "build", "how", "rows", "time", "gate"], rows)


def _print_publication(publication: Publication) -> None:
    pins = ", ".join(f"{view}: {pin.build or pin.run}" for view, pin in publication.pins.items())
    line(f"published {publication.seq} · {pins}")


def print_batch(run: BatchRun) -> None:
    """A whole batch cycle."""
    _print_claim(run.claim)
    _print_landed(run.landed)
    _print_built(run.built)
    print_gate(run.gated)
    if run.publication:
        _print_publication(run.publication)
    if run.note:
        line(run.note)


COMMANDS = [batch, claim, land, build, publish]
