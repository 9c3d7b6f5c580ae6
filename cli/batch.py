"""The verbs of the batch layer: its cycle whole, or step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, moment, names, settings
from cli.output import emit, out, table
from cli.quality import gate, print_gate
from core.errors import Usage

if TYPE_CHECKING:
    from datetime import datetime

    from batch.land import Landed
    from core.identifiers import Name
    from flows.batch_cycle import BatchRun
    from infra.control.builds import Built as Built
    from infra.control.claims import Claim as Claim
    from infra.control.publications import Publication as Publication


_GATE = {None: "not judged", True: "passed", False: "failed"}


@click.command()
@click.option("--incremental", is_flag=True, help="Add the log since the last build to it, where that is exact.")
@json_option
def batch(incremental: bool) -> None:
    """Claims a cut, lands the log, builds every view, judges the build, publishes."""
    from flows.batch_cycle import run_batch

    found = settings()
    emit(run_batch(found, catalog(found), incremental=incremental), print_batch)


@click.command()
@json_option
def claim() -> None:
    """Reserves the end of the newest epoch as the cut of the next build."""
    from batch.claim import claim as make

    found = settings()
    emit(make(found, catalog(found)), _print_claim)


@click.command()
@click.option("--build", help="The claimed build (default: the newest claim).")
@json_option
def land(build: str | None) -> None:
    """Copies the log up to the claimed cut into the archive."""
    from flows import batch_cycle as flow

    found = settings()
    emit(flow.land_claim(found, catalog(found), build), _print_landed)


@click.command()
@click.option("--build", "name", help="The claimed build (default: the newest claim).")
@click.option("--incremental", is_flag=True, help="Add the log since the last build to it, where that is exact.")
@click.option("--views", type=names, help="Instead: what these serve (a,b), with --from and --to computed again.")
@click.option("--from", "start", type=moment, help="The first start of a window that is computed again, UTC.")
@click.option("--to", "end", type=moment, help="The first start of a window that is not, UTC.")
@json_option
def build(
    name: str | None, incremental: bool, views: tuple[Name, ...] | None, start: datetime | None, end: datetime | None
) -> None:
    """Computes every view up to the claimed cut, or a range of windows of what is served; `gate` judges it."""
    from flows import batch_cycle as flow
    from flows.range_rebuild import rebuild_range

    found = settings()
    if views is None and start is None and end is None:
        emit(flow.build_claim(found, catalog(found), name, incremental=incremental), _print_built)
        return
    if views is None or start is None or end is None or name or incremental:
        raise Usage("a range needs --views, --from and --to, and nothing else", fix="see `lk build --help`")
    emit(rebuild_range(found, catalog(found), views, start, end), _print_built)


@click.command()
@click.option("--build", help="The build to serve (default: the newest claim).")
@click.option("--why", default="lk publish", help="Recorded with the publication.")
@json_option
def publish(build: str | None, why: str) -> None:
    """Makes a build that passed its gate the served one."""
    from flows import batch_cycle as flow

    found = settings()
    emit(flow.publish_claim(found, catalog(found), build, why=why), _print_publication)


def _print_claim(claimed: Claim) -> None:
    pair = f"run {claimed.run}, epoch {claimed.epoch}" if claimed.run else "no run"
    out().print(f"claimed  {claimed.build} · cut at {claimed.cut.size:,} offsets · paired with {pair}")


def _print_landed(landed: list[Landed] | tuple[Landed, ...]) -> None:
    for one in landed:
        out().print(f"landed   {one.topic} · {one.records:,} records · {one.seconds:.1f} s")


def _print_built(built: list[Built] | tuple[Built, ...]) -> None:
    rows = [(one.view, one.build, one.how, one.rows, f"{one.seconds:.1f} s", _GATE[one.passed]) for one in built]
    table("built", ["view", "build", "how", "rows", "time", "gate"], rows)


def _print_publication(done: Publication) -> None:
    out().print(f"published {done.seq} · {', '.join(f'{v}: {p.build or p.run}' for v, p in done.pins.items())}")


def print_batch(done: BatchRun) -> None:
    """A whole batch cycle."""
    _print_claim(done.claim)
    _print_landed(done.landed)
    _print_built(done.built)
    print_gate(done.gated)
    if done.publication:
        _print_publication(done.publication)
    if done.note:
        out().print(done.note, markup=False, highlight=False)


COMMANDS = [batch, claim, land, build, gate, publish]
