"""Routes: records copied to other topics, exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import catalog, json_option, settings
from cli.output import emit, out
from core.identifiers import Name

if TYPE_CHECKING:
    from flows.routes import RouteState


@click.group()
def route() -> None:
    """Routes: start, stop, status, replay, switch, retire (and `run`, which stays in the foreground)."""


@route.command("start")
@click.argument("route")
@json_option
def route_start(route: str) -> None:
    """Goes on copying to the topics of ROUTE, from offset 0 the first time."""
    from flows import routes as flow

    found = settings()
    emit(flow.start(found, catalog(found), Name(route)), _print)


@route.command("stop")
@click.argument("route")
@json_option
def route_stop(route: str) -> None:
    """Stops every run of ROUTE between two epochs."""
    from flows import routes as flow

    found = settings()
    emit(flow.stop(found, catalog(found), Name(route)), _print_all)


@route.command("status")
@json_option
def route_status() -> None:
    """Says what every route's runs have copied, and how far they are behind the log."""
    from flows import routes as flow

    found = settings()
    emit(flow.status(found, catalog(found)), _print_all)


@route.command("replay")
@click.argument("route")
@json_option
def route_replay(route: str) -> None:
    """Copies the log from offset 0 again, into topics of a new run's own."""
    from flows import routes as flow

    found = settings()
    emit(flow.replay(found, catalog(found), Name(route)), _print)


@route.command("switch")
@click.argument("route")
@click.option("--run", help="The run that takes over (default: one of today's definition, from where the owner stops).")
@json_option
def route_switch(route: str, run: str | None) -> None:
    """Hands the topics of ROUTE over to another run, at a recorded cut; nothing if the owner is as defined today."""
    from flows import routes as flow

    found = settings()
    emit(flow.switch(found, catalog(found), Name(route), Name(run) if run else None), _print)


@route.command("retire")
@click.argument("run")
@json_option
def route_retire(run: str) -> None:
    """Ends RUN, which does not own its route's topics; topics of its own are deleted."""
    from flows import routes as flow

    found = settings()
    emit(flow.retire(found, catalog(found), Name(run)), _print)


@route.command("run")
@click.argument("run")
def route_run(run: str) -> None:
    """Drives RUN in the foreground until it is told to stop; for clusters and for `route start`."""
    from speed.routes import route_job as job

    found = settings()
    job.run_forever(found, catalog(found), Name(run))


def _print(state: RouteState) -> None:
    out().print(state.line, markup=False, highlight=False)


def _print_all(states: list[RouteState]) -> None:
    for state in states:
        _print(state)
    if not states:
        out().print("no route yet; start one: `lk route start ROUTE`")


COMMANDS = [route]
