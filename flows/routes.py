"""Routes as verbs: start, stop, replay, switch, retire and status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.catalog import Catalog
from core.cut import Cut
from core.errors import Refused, TryAgain
from core.identifiers import Name
from infra.control import locks, route_runs, runs
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin, topic_admin
from infra.lake import table_paths
from infra.settings import Settings
from speed.epoch import offset_log
from speed.process import background
from speed.routes.handover import hand_over
from speed.routes.planner import names, reached, require_same_definition, require_same_topics

Role = Literal["owner", "replay", "former", "ended"]
_NEAR = 100_000  # records that a run may be behind when it takes over: its readers wait that long


@dataclass(frozen=True)
class RouteState:
    """What a route's run does. ``copied`` is by output, "" for none; ``behind`` and it are None without an answer.

    ``exact``: as many records were counted as offsets were passed.
    """

    route: Name
    run: Name
    role: Role
    alive: bool
    phase: str
    copied: Mapping[str, int]
    behind: int | None
    exact: bool
    topics: tuple[str, ...]
    reason: str = ""
    log: Path | None = None

    @property
    def line(self) -> str:
        """The state in one line."""
        copied = ", ".join(f"{n:,} to {output or 'none'}" for output, n in sorted(self.copied.items())) or "nothing yet"
        behind = "Kafka does not answer" if self.behind is None else f"{self.behind:,} records behind"
        wrong = () if self.exact else ("counts and offsets differ",)
        why = (self.reason, f"log: {self.log}") if self.reason else ()
        return " · ".join([f"{self.route} {self.run} {self.role}", self.phase, copied, behind, *wrong, *why])


def start(settings: Settings, catalog: Catalog, route: Name) -> RouteState:
    """Starts the run that owns the route's topics; the first one owns them from offset 0 on."""
    catalog.route(route)
    known = _settled(settings, route)
    owner = known.owner or _declare(settings, catalog, route, replays=True).id
    if known.owner is None:
        known = hand_over(settings, route, owner)
    require_same_definition(catalog, known.runs[owner])
    return _start(settings, catalog, known.runs[owner])


def replay(settings: Settings, catalog: Catalog, route: Name) -> RouteState:
    """Starts a run that copies the log from offset 0 again, into topics of its own; or goes on with the one begun."""
    catalog.route(route)
    known = _settled(settings, route)
    if known.owner is None:
        raise Refused(f"route {route} was never started", where="control.routes", fix=f"`lk route start {route}`")
    begun = [run for run in known.runs.values() if _role(known, run) == "replay" and _is_todays(catalog, run)]
    run = begun[-1] if begun else _declare(settings, catalog, route, replays=True)
    return _start(settings, catalog, run)


def switch(settings: Settings, catalog: Catalog, route: Name, run: Name | None = None) -> RouteState:
    """Hands the route's topics over to ``run``, and starts it.

    Without ``run``, to one of today's definition: the owner, if it is one, else a new run that begins where that stops.
    """
    catalog.route(route)
    known = route_runs.read_history(settings, route)
    if known.owner is None:
        raise Refused(f"route {route} was never started", where="control.routes", fix=f"`lk route start {route}`")
    chosen = _chosen(settings, catalog, known, run)
    require_same_definition(catalog, chosen)
    require_same_topics(settings, chosen)
    if chosen.id not in (known.owner, known.handover):
        _require_near(settings, known, chosen)
    if chosen.id != known.owner:
        background.stop(settings, known.owner)
    return _start(settings, catalog, hand_over(settings, route, chosen.id).runs[chosen.id])


def stop(settings: Settings, catalog: Catalog, route: Name) -> list[RouteState]:
    """Stops every run of a route between two epochs."""
    for run in route_runs.read_history(settings, route).runs:
        background.stop(settings, run)
    return [state for state in status(settings, catalog) if state.route == route]


def retire(settings: Settings, catalog: Catalog, id: Name) -> RouteState:
    """Ends a run that does not own the route's topics: its own topics and its group go."""
    run = route_runs.read_run(settings, id)
    known = route_runs.read_history(settings, run.route)
    if id in (known.owner, known.handover):
        raise Refused(f"run {id} owns the topics of route {run.route}", where=f"run {id}", fix="hand them over first")
    background.stop(settings, id)
    with locks.hold(settings, "routes") as lease:
        if not run.ended:
            route_runs.add_step(settings, lease, "ended", run)
    if run.route in catalog.routes:
        topic_admin.delete_topics(settings, names(catalog.route(run.route), id, live=False).values())
    kafka_admin.delete_group(settings, id)
    return _state(settings, catalog, route_runs.read_history(settings, run.route), route_runs.read_run(settings, id))


def status(settings: Settings, catalog: Catalog) -> list[RouteState]:
    """Every run of every route that has not ended."""
    known = route_runs.read_histories(settings).values()
    return [_state(settings, catalog, one, run) for one in known for run in one.runs.values() if not run.ended]


def _settled(settings: Settings, route: Name) -> RouteHistory:
    """A handover that was begun is finished first."""
    known = route_runs.read_history(settings, route)
    return hand_over(settings, route, known.handover) if known.handover else known


def _chosen(settings: Settings, catalog: Catalog, known: RouteHistory, run: Name | None) -> RouteRun:
    if run is None:
        latest = known.handover or known.owner
        begun = [one for one in known.runs.values() if one.id == latest and _is_todays(catalog, one)]
        return begun[0] if begun else _declare(settings, catalog, known.route, replays=False)
    if run not in known.runs or known.runs[run].ended:
        raise Refused(f"route {known.route} has no run {run}", where="control.routes", fix="see `lk route status`")
    return known.runs[run]


def _is_todays(catalog: Catalog, run: RouteRun) -> bool:
    return run.digest == catalog.route_digest(run.route)


def _declare(settings: Settings, catalog: Catalog, route: Name, *, replays: bool) -> RouteRun:
    table_paths.open_lake(settings)
    sources = [Name(source) for source in catalog.route(route).sources]
    topic_admin.create_topics(settings, Catalog({source: catalog.topics[source] for source in sources}, {}))
    ids = kafka_admin.topic_ids(settings, sources)
    with locks.hold(settings, "routes") as lease:
        run = RouteRun(runs.fresh_id(settings), route, catalog.route_digest(route), ids, replays)
        route_runs.add_step(settings, lease, "declared", run)
    return run


def _start(settings: Settings, catalog: Catalog, run: RouteRun) -> RouteState:
    background.start(settings, run.id, "route", "run", run.id)
    return _state(settings, catalog, route_runs.read_history(settings, run.route), run)


def _require_near(settings: Settings, known: RouteHistory, run: RouteRun) -> None:
    """A run that was made for this handover is nowhere yet, and begins at the cut."""
    if not run.replays and not any(tenure.run == run.id for tenure in known.ownerships):
        return
    assert known.owner
    owner, own = reached(settings, known, known.runs[known.owner]), reached(settings, known, run)
    behind = sum(owner[where].offset - own[where].offset for where in owner)
    if behind > _NEAR:
        raise TryAgain(
            f"run {run.id} is {behind:,} records behind the owner, run {known.owner}",
            where=f"route {known.route}",
            fix="wait until it has caught up: see `lk route status`",
        )


def _role(known: RouteHistory, run: RouteRun) -> Role:
    if run.ended:
        return "ended"
    if known.owner == run.id:
        return "owner"
    return "former" if any(tenure.run == run.id for tenure in known.ownerships) else "replay"


def _state(settings: Settings, catalog: Catalog, known: RouteHistory, run: RouteRun) -> RouteState:
    away = background.remote_owner(settings, run.id) is not None
    alive = away or background.alive(settings, run.id) is not None
    told = offset_log.read_state(settings, run.id)
    phase, reason = "running" if away else str(told.get("phase", "stopped")), told.get("reason") or {}
    copied, behind, exact = _counted(settings, known, run)
    role = _role(known, run)
    route = catalog.routes.get(run.route)
    return RouteState(
        route=run.route,
        run=run.id,
        role=role,
        alive=alive,
        phase=phase if alive or phase in ("failed", "stopped") else "died",
        copied=copied,
        behind=behind,
        exact=exact,
        topics=tuple(names(route, run.id, live=role == "owner").values()) if route else (),
        reason=str(reason.get("what", "")),
        log=background.log_file(settings, run.id),
    )


def _counted(settings: Settings, known: RouteHistory, run: RouteRun) -> tuple[dict[str, int], int | None, bool]:
    start: Cut = known.start(run)
    try:
        at, ends = reached(settings, known, run), kafka_admin.end_offsets(settings, run.topics)
    except (TryAgain, Refused):
        return {}, None, True
    copied: Counter[str] = Counter()
    for position in at.values():
        copied.update(position.counts)
    passed = sum(position.offset - start.end(*where) for where, position in at.items())
    return dict(copied), ends.size - sum(p.offset for p in at.values()), sum(copied.values()) == passed
