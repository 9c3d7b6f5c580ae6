"""The definitions that a verb needs, by what it works on: a mistake in another file does not stop it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from core.identifiers import Name
from infra.control import publications, route_runs, run_roles, runs
from infra.control.claims import claim_or_last
from infra.settings import Settings
from speed.quarantine import repair_file

Needed = tuple[tuple[str, str], ...]  # such as ("view", "trades_by_day")


def of_topics(topics: Iterable[Name]) -> Needed:
    """These topics."""
    return tuple(("topic", str(topic)) for topic in topics)


def of_views(views: Iterable[Name]) -> Needed:
    """These views; their topics come with them."""
    return tuple(("view", str(view)) for view in views)


def of_run(settings: Settings, run: Name) -> Needed:
    """The views and topics of a run. Raises Refused when it was never declared."""
    declared = runs.read_run(settings, run)
    return (*of_views(declared.views), *of_topics(declared.decoders))


def of_current_run(settings: Settings) -> Needed:
    """The views and topics of the run that `lk speed start` resumes; empty when it would be the first one."""
    current = run_roles.current_run(settings)
    return of_run(settings, current) if current else ()


def of_open_replay(settings: Settings) -> Needed:
    """The views and topics of the replay in progress; empty when there is none."""
    replay = run_roles.replay_in_progress(settings)
    return of_run(settings, replay) if replay else ()


def of_rollback(settings: Settings) -> Needed:
    """The views of what a rollback serves again.

    A publication that a crash left open is finished or reverted first, so that there may be two targets.
    """
    candidates = [run_roles.rollback_target(settings)]
    candidates += [publications.last_done(settings)] if publications.open_intent(settings) else []
    return of_views(view for publication in candidates if publication for view in publication.pins)


def of_route(route: Name) -> Needed:
    """A route; its topics come with it."""
    return (("route", str(route)),)


def of_route_run(settings: Settings, run: Name) -> Needed:
    """The route of a run. Raises Refused when it was never declared."""
    return of_route(route_runs.read_run(settings, run).route)


def of_landing(settings: Settings, build: str | None) -> Needed:
    """The topics of a claim; None means the last claim."""
    return of_topics(claim_or_last(settings, build).cut.topics)


def of_build(settings: Settings, build: str | None) -> Needed:
    """The views of a claim; None means the last claim."""
    return of_views(claim_or_last(settings, build).views)


def of_repairs(file: Path) -> Needed:
    """The topics of a file of repaired records."""
    return of_topics(repair_file.topics_of(file))
