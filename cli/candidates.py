"""Shell completion of arguments: the views, topics, routes, runs and logs of this instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from infra.settings import Settings


def views(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of views."""
    return _matching(ctx, incomplete, _view_names)


def view_list(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The last name in a list of views between commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _matching(ctx, last, _view_names)]


def topics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of topics."""
    return _matching(ctx, incomplete, _topic_names)


def routes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of routes."""
    return _matching(ctx, incomplete, _route_names)


def runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of runs."""
    return _matching(ctx, incomplete, _run_names)


def route_runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the runs of routes."""
    return _matching(ctx, incomplete, _route_run_names)


def logs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Names of the logs that an instance has."""
    return _matching(ctx, incomplete, lambda settings: [log.stem for log in settings.log_dir.glob("*.log")])


def _matching(ctx: click.Context, incomplete: str, read: Callable[[Settings], Iterable[str]]) -> list[str]:
    """No names if the settings or the lake cannot be read: an error message would garble the command line."""
    from infra.settings.sources import read_settings

    try:
        return sorted(
            name for name in read(read_settings(ctx.find_root().params.get("config"))) if name.startswith(incomplete)
        )
    except Exception:
        return []


def _view_names(settings: Settings) -> Iterable[str]:
    from infra.definitions import definition_files

    return definition_files.load_usable(settings)[0].views


def _topic_names(settings: Settings) -> Iterable[str]:
    from infra.definitions import definition_files

    return definition_files.load_usable(settings)[0].topics


def _route_names(settings: Settings) -> Iterable[str]:
    from infra.definitions import definition_files

    return definition_files.load_usable(settings)[0].routes


def _run_names(settings: Settings) -> Iterable[str]:
    """Ids of runs in a local lake; an object store is too slow for completion."""
    from infra.control.runs import read_runs

    return [run.id for run in read_runs(settings)] if settings.lake_is_local else []


def _route_run_names(settings: Settings) -> Iterable[str]:
    from infra.control.route_runs import read_histories

    histories = read_histories(settings).values() if settings.lake_is_local else []
    return [run for history in histories for run in history.runs]
