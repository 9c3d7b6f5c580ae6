"""The verbs of routes, which copy records to other topics, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli import candidates
from cli.audited import audited
from cli.options import json_option, load_settings, load_usable
from cli.output import emit, line
from cli.verb_group import VerbGroup
from core.identifiers import Name

if TYPE_CHECKING:
    from flows.routes import RouteState

_ROUTE = click.argument("route", type=Name, shell_complete=candidates.routes)
_RUN = click.argument("run", type=Name, shell_complete=candidates.route_runs)


@click.group(cls=VerbGroup)
def route() -> None:
    """Copy records to other topics, exactly once."""


@route.command("start")
@_ROUTE
@json_option
@audited()
def route_start(route: Name) -> None:
    """Start or resume copying to the topics of ROUTE.

    The first start copies from offset 0.
    """
    from flows import needed_definitions, routes

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_route(route))
    emit(routes.start(settings, catalog, route), _print_state)


@route.command("stop")
@_ROUTE
@json_option
@audited()
def route_stop(route: Name) -> None:
    """Stop every run of ROUTE between two epochs."""
    from flows import routes

    settings = load_settings()
    emit(routes.stop(settings, load_usable(settings), route), _print_states)


@route.command("status")
@json_option
def route_status() -> None:
    """Show what each run has copied and how far it is behind."""
    from flows import routes

    settings = load_settings()
    emit(routes.status(settings, load_usable(settings)), _print_states)


@route.command("replay")
@_ROUTE
@json_option
@audited()
def route_replay(route: Name) -> None:
    """Copy the log again from offset 0, into topics of a new run."""
    from flows import needed_definitions, routes

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_route(route))
    emit(routes.replay(settings, catalog, route), _print_state)


@route.command("switch")
@_ROUTE
@click.option(
    "--run",
    type=Name,
    shell_complete=candidates.route_runs,
    help="The new owner (default: a run with today's definition that continues where the owner stops).",
)
@json_option
@audited()
def route_switch(route: Name, run: Name | None) -> None:
    """Hand the topics of ROUTE to another run, at a recorded cut.

    Without --run it changes nothing if the owner already has today's definition.
    """
    from flows import needed_definitions, routes

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_route(route))
    emit(routes.switch(settings, catalog, route, run), _print_state)


@route.command("retire")
@_RUN
@json_option
@audited(begins=True)
def route_retire(run: Name) -> None:
    """End RUN, and delete the topics that only it wrote.

    The run that owns the topics of its route is refused.
    """
    from flows import needed_definitions, routes

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_route_run(settings, run))
    emit(routes.retire(settings, catalog, run), _print_state)


@route.command("run")
@_RUN
@json_option
@audited()
def route_run(run: Name) -> None:
    """Run RUN in the foreground until SIGTERM, for clusters."""
    from flows import needed_definitions, routes
    from speed.routes import route_job

    settings = load_settings()
    catalog = load_usable(settings, *needed_definitions.of_route_run(settings, run))
    route_job.run_forever(settings, catalog, run)
    emit([state for state in routes.status(settings, catalog) if state.run == run], lambda _: None)


def _print_state(state: RouteState) -> None:
    line(state.line)


def _print_states(states: Sequence[RouteState]) -> None:
    for state in states:
        _print_state(state)
    if not states:
        line("no route yet; start one: `lk route start ROUTE`")


COMMANDS = [route]
