"""What the verbs of routes do: start, stop, replay, switch, retire, status."""

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
from infra.kafka import acls, kafka_admin, topic_admin
from infra.lake import table_paths
from infra.settings import Settings
from speed.process import background, state_file
from speed.routes.dropped_outputs import withdraw_dropped
from speed.routes.handover import hand_over
from speed.routes.outputs import output_topics
from speed.routes.planner import reached, require_same_definition, require_same_topics

RouteRole = Literal["owner", "replay", "former", "ended"]
_NEAR = 100_000  # maximum lag, in records, of a run that takes over: readers of its topics wait for so long


@dataclass(frozen=True)
class RouteState:
    """The state of a route's run. ``copied`` is records by output, "" for none. ``behind`` is None if Kafka is down.

    ``gaps`` is offsets without a committed record. ``exact``: counted records and gaps are as many as the offsets.
    """

    route: Name
    run: Name
    role: RouteRole
    alive: bool
    phase: str
    copied: Mapping[str, int]
    behind: int | None
    gaps: int
    exact: bool
    topics: tuple[str, ...]
    reason: str = ""
    log: Path | None = None

    @property
    def line(self) -> str:
        """The state in one line."""
        copied = ", ".join(f"{n:,} to {output or 'none'}" for output, n in sorted(self.copied.items())) or "nothing yet"
        gaps = (f"{self.gaps:,} offsets without a record",) if self.gaps else ()
        behind = "Kafka does not answer" if self.behind is None else f"{self.behind:,} records behind"
        inexact = () if self.exact else ("counts and offsets differ",)
        why = (self.reason, f"log: {self.log}") if self.reason else ()
        return " · ".join([f"{self.route} {self.run} {self.role}", self.phase, copied, *gaps, behind, *inexact, *why])


def start(settings: Settings, catalog: Catalog, route: Name) -> RouteState:
    """Starts the run that owns the route's topics; the first run owns them from offset 0."""
    catalog.route(route)
    history = _finish_handover(settings, catalog, route)
    owner = history.owner or _declare(settings, catalog, route, replays=True).id
    if history.owner is None:
        history = hand_over(settings, catalog.route(route), owner)
    require_same_definition(catalog, history.runs[owner])
    return _start(settings, catalog, history.runs[owner])


def replay(settings: Settings, catalog: Catalog, route: Name) -> RouteState:
    """Starts or resumes a run that copies the log from offset 0 again, into topics of its own."""
    catalog.route(route)
    history = _finish_handover(settings, catalog, route)
    _require_owner(history)
    open_replays = [r for r in history.runs.values() if _role(history, r) == "replay" and _is_todays(catalog, r)]
    run = open_replays[-1] if open_replays else _declare(settings, catalog, route, replays=True)
    return _start(settings, catalog, run)


def switch(settings: Settings, catalog: Catalog, route: Name, run: Name | None = None) -> RouteState:
    """Hands the route's topics over to ``run``, and starts it.

    The default run has today's definition: the owner, or else a new run that starts where the owner stops.
    """
    catalog.route(route)
    history = route_runs.read_history(settings, route)
    owner = _require_owner(history)
    chosen = _chosen(settings, catalog, history, run)
    require_same_definition(catalog, chosen)
    require_same_topics(settings, chosen)
    if chosen.id not in (owner, history.handover):
        _require_near(settings, history, chosen)
    if chosen.id != owner:
        background.stop(settings, owner)
    return _start(settings, catalog, hand_over(settings, catalog.route(route), chosen.id).runs[chosen.id])


def _require_owner(history: RouteHistory) -> Name:
    """The run that writes to the route's topics. Raises Refused when the route was never started."""
    if history.owner is None:
        route = history.route
        raise Refused(f"route {route} was never started", where="control.routes", fix=f"`lk route start {route}`")
    return history.owner


def stop(settings: Settings, catalog: Catalog, route: Name) -> list[RouteState]:
    """Stops every run of a route between two epochs."""
    for run in route_runs.read_history(settings, route).runs:
        background.stop(settings, run)
    return [state for state in status(settings, catalog) if state.route == route]


def retire(settings: Settings, catalog: Catalog, id: Name) -> RouteState:
    """Ends a run that does not own the route's topics; deletes the topics and the group of its own."""
    run = route_runs.read_run(settings, id)
    history = route_runs.read_history(settings, run.route)
    if id in (history.owner, history.handover):
        raise Refused(
            f"run {id} owns the topics of route {run.route}",
            where=f"run {id}",
            fix=f"hand them to another run first: `lk route switch {run.route} --run RUN`",
        )
    background.stop(settings, id)
    with locks.hold(settings, "routes") as lease:
        if not run.ended:
            route_runs.add_step(settings, lease, "ended", run)
    if run.route in catalog.routes:
        outputs = output_topics(catalog.route(run.route), id, live=False)
        topic_admin.delete_topics(settings, outputs.values())
        acls.withdraw_writes(settings, outputs.values())
    kafka_admin.delete_group(settings, id)
    return _state(settings, catalog, route_runs.read_history(settings, run.route), route_runs.read_run(settings, id))


def status(settings: Settings, catalog: Catalog) -> list[RouteState]:
    """Every run of every route that has not ended."""
    histories = route_runs.read_histories(settings).values()
    return [_state(settings, catalog, h, run) for h in histories for run in h.runs.values() if not run.ended]


def with_copies(settings: Settings, catalog: Catalog) -> tuple[Name, ...]:
    """The routes that ran, by Kafka alone: they have output topics."""
    topics = kafka_admin.partition_counts(settings)
    return tuple(name for name, route in catalog.routes.items() if any(o.name in topics for o in route.outputs))


def _finish_handover(settings: Settings, catalog: Catalog, route: Name) -> RouteHistory:
    """The route's history, once an interrupted handover is finished."""
    history = route_runs.read_history(settings, route)
    return hand_over(settings, catalog.route(route), history.handover) if history.handover else history


def _chosen(settings: Settings, catalog: Catalog, history: RouteHistory, run: Name | None) -> RouteRun:
    if run is None:
        latest = history.handover or history.owner
        current = [r for r in history.runs.values() if r.id == latest and _is_todays(catalog, r)]
        return current[0] if current else _declare(settings, catalog, history.route, replays=False)
    if run not in history.runs or history.runs[run].ended:
        raise Refused(f"route {history.route} has no run {run}", where="control.routes", fix="see `lk route status`")
    return history.runs[run]


def _is_todays(catalog: Catalog, run: RouteRun) -> bool:
    return run.digest == catalog.route_digest(run.route)


def _declare(settings: Settings, catalog: Catalog, route: Name, *, replays: bool) -> RouteRun:
    table_paths.open_lake(settings)
    sources = [Name(source) for source in catalog.route(route).sources]
    topic_admin.create_topics(settings, catalog.only_topics(sources))
    ids = kafka_admin.topic_ids(settings, sources)
    with locks.hold(settings, "routes") as lease:
        run = RouteRun(runs.new_run_id(settings), route, catalog.route_digest(route), ids, replays)
        route_runs.add_step(settings, lease, "declared", run)
    return run


def _start(settings: Settings, catalog: Catalog, run: RouteRun) -> RouteState:
    history = route_runs.read_history(settings, run.route)
    is_live = run.id in (history.owner, history.handover)
    acls.allow_writes(settings, output_topics(catalog.route(run.route), run.id, live=is_live).values())
    withdraw_dropped(settings, catalog)
    background.start(settings, run.id, "route", "run", run.id)
    return _state(settings, catalog, route_runs.read_history(settings, run.route), run)


def _require_near(settings: Settings, history: RouteHistory, run: RouteRun) -> None:
    """Raises TryAgain if a run is far behind the owner. A run declared for this handover starts at the cut."""
    if not run.replays and not any(ownership.run == run.id for ownership in history.ownerships):
        return
    assert history.owner
    owner, replay = reached(settings, history, history.runs[history.owner]), reached(settings, history, run)
    behind = sum(owner[partition].offset - replay[partition].offset for partition in owner)
    if behind > _NEAR:
        raise TryAgain(
            f"run {run.id} is {behind:,} records behind the owner, run {history.owner}",
            where=f"route {history.route}",
            fix="wait until it has caught up: see `lk route status`",
        )


def _role(history: RouteHistory, run: RouteRun) -> RouteRole:
    if run.ended:
        return "ended"
    if history.owner == run.id:
        return "owner"
    return "former" if any(ownership.run == run.id for ownership in history.ownerships) else "replay"


def _state(settings: Settings, catalog: Catalog, history: RouteHistory, run: RouteRun) -> RouteState:
    remote = background.remote_owner(settings, run.id) is not None
    alive = remote or background.alive(settings, run.id) is not None
    state = state_file.read_state(settings, run.id)
    reason = state.get("reason") or {}
    copied, gaps, behind, exact = _counted(settings, history, run)
    role = _role(history, run)
    route = catalog.routes.get(run.route)
    return RouteState(
        route=run.route,
        run=run.id,
        role=role,
        alive=alive,
        phase=state_file.phase_of(state, alive=alive, remote=remote),
        copied=copied,
        behind=behind,
        gaps=gaps,
        exact=exact,
        topics=tuple(output_topics(route, run.id, live=role == "owner").values()) if route else (),
        reason=str(reason.get("what", "")),
        log=background.log_file(settings, run.id),
    )


def _counted(settings: Settings, history: RouteHistory, run: RouteRun) -> tuple[dict[str, int], int, int | None, bool]:
    start: Cut = history.start(run)
    try:
        positions, ends = reached(settings, history, run), kafka_admin.end_offsets(settings, run.topics)
    except (TryAgain, Refused):
        return {}, 0, None, True
    copied: Counter[str] = Counter()
    for position in positions.values():
        copied.update(position.counts)
    gaps = sum(position.gaps for position in positions.values())
    offsets = sum(position.offset - start.end(*partition) for partition, position in positions.items())
    behind = ends.size - sum(position.offset for position in positions.values())
    return dict(copied), gaps, behind, copied.total() + gaps == offsets
