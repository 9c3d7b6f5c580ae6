"""The routes that copied the record, by the positions of their runs, and where the copies are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from core.catalog import Catalog
from core.cut import Span
from core.identifiers import Name
from core.positions import LogPartition, RecordPosition
from core.route import Route
from core.route_ownership import next_slice
from flows.trace.cells import guarded
from flows.trace.stage_texts import MADE_AGAIN_AFTER_RUN
from flows.trace.stages import RouteCopy
from infra.control import route_runs
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin
from infra.kafka.copy_search import MOST, CopySearch, find_copy
from infra.kafka.route_positions import ORIGIN
from infra.settings import Settings
from speed.routes.outputs import output_topics
from speed.routes.planner import reached


def read_routes(
    settings: Settings, catalog: Catalog, position: RecordPosition, topic_id: str | None, timestamp: int | None
) -> tuple[RouteCopy, ...]:
    """Every run of a route from the topic that has not ended. ``timestamp`` is that of the record, if Kafka has it."""
    routes = {name: route for name, route in catalog.routes.items() if position.topic in route.sources}
    copies = []
    for name, history in _histories(settings, routes).items():
        started = [run for run in history.runs.values() if not run.ended]
        for run in started:
            read = partial(_read, settings, routes[name], history, run, position, topic_id, timestamp)
            copies.append(guarded(read, partial(_refused, run)))
        if not started:
            copies.append(RouteCopy(name, Name("none"), None, False, note="the route was never started"))
    return tuple(copies)


def _histories(settings: Settings, routes: Mapping[Name, Route]) -> Mapping[Name, RouteHistory]:
    stored = route_runs.read_histories(settings) if routes else {}
    return {name: stored.get(name) or RouteHistory(name, {}, (), None) for name in routes}


def _refused(run: RouteRun, reason: str) -> RouteCopy:
    return RouteCopy(run.route, run.id, None, None, problem=reason)


def _read(
    settings: Settings,
    route: Route,
    history: RouteHistory,
    run: RouteRun,
    position: RecordPosition,
    topic_id: str | None,
    timestamp: int | None,
) -> RouteCopy:
    topic, partition, offset = position
    unread = RouteCopy(run.route, run.id, None, None)
    if topic_id is not None and run.topics.get(topic) != topic_id:
        return replace(unread, note=MADE_AGAIN_AFTER_RUN)
    if offset < (start := history.start(run).end(topic, partition)):
        return replace(unread, is_passed=False, note=f"it begins at offset {start}, the run before it had this record")
    of_run = reached(settings, history, run)[LogPartition(topic, partition)]
    copy = replace(unread, position=of_run.offset, is_passed=offset < of_run.offset)
    if not copy.is_passed:
        return replace(copy, note=f"not copied yet: its position is {of_run.offset}")
    if timestamp is None:
        return replace(copy, note="the copy is not searched: the time of the record is not known")
    search = _find(settings, route, history, run, position, timestamp)
    return replace(copy, copy=search.copy or "", note=_note(search))


def _find(
    settings: Settings,
    route: Route,
    history: RouteHistory,
    run: RouteRun,
    position: RecordPosition,
    timestamp: int,
) -> CopySearch:
    """Copies have the timestamps of their records, so that the search begins where these begin in each output."""
    topic, partition, offset = position
    span = Span(topic, partition, offset, offset + 1)
    live = bool(history.ownerships) and next_slice(history.ownerships, run.id, span).live
    outputs = output_topics(route, run.id, live=live).values()
    existing = kafka_admin.partition_counts(settings)
    counts = [existing[output] for output in outputs if output in existing]
    to = partition % min(counts) if counts else 0
    offsets = {
        output: kafka_admin.offset_at(settings, output, to, timestamp) for output in outputs if output in existing
    }
    starts = [(output, to, start) for output, start in offsets.items() if start is not None]
    return find_copy(settings, starts, ORIGIN, str(position))


def _note(search: CopySearch) -> str:
    if search.copy:
        return ""
    if search.is_whole:
        return "no copy of it is there: no output of the route takes it"
    return f"its copy is not among the {MOST:,} records that were searched in each output"
