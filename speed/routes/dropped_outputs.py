"""Takes back the right to write to topics that no route writes any more: outputs that a route's file dropped."""

from __future__ import annotations

from core.catalog import Catalog
from infra.control import route_runs
from infra.control.route_runs import RouteRun
from infra.kafka import acls
from infra.settings import Settings
from speed.process import background
from speed.routes.outputs import output_topics


def withdraw_dropped(settings: Settings, catalog: Catalog) -> None:
    """Leaves routes the right to the outputs of their runs alone.

    No change while a process copies by another definition than today's: it still writes to the outputs of that one.
    """
    given = acls.given_writes(settings)  # first, as a run is declared before it is given a right
    if not given:
        return
    histories = route_runs.read_histories(settings).values()
    runs = [run for history in histories for run in history.runs.values() if not run.ended]
    dropped = given - {topic for run in runs for topic in _writable(catalog, run)}
    if dropped and not any(_copies_by_another(settings, catalog, run) for run in runs):
        acls.withdraw_writes(settings, sorted(dropped))


def _writable(catalog: Catalog, run: RouteRun) -> set[str]:
    """The topics of a run by today's definition, as the owner or not."""
    if run.route not in catalog.routes:
        return set()
    own, live = (output_topics(catalog.route(run.route), run.id, live=is_live) for is_live in (False, True))
    return {*own.values(), *live.values()}


def _copies_by_another(settings: Settings, catalog: Catalog, run: RouteRun) -> bool:
    if run.route in catalog.routes and catalog.route_digest(run.route) == run.digest:
        return False
    return background.alive(settings, run.id) is not None or background.remote_owner(settings, run.id) is not None
