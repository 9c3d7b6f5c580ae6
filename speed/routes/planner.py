"""Plans the next transactions of a route's run: one for each partition with new records."""

from __future__ import annotations

from collections.abc import Mapping

from core.catalog import Catalog
from core.cut import Cut, Span
from core.identifiers import Name
from core.positions import LogPartition
from core.route import Route
from core.route_ownership import next_slice
from core.validation.definition_change import route_refusal
from infra.control import route_runs
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin, log_checks, log_marks, topic_admin
from infra.kafka.log_marks import record_reader
from infra.kafka.route_positions import Position, positions
from infra.settings import Settings
from speed.routes.copy_task import CopyTask
from speed.routes.lost_positions import OTHER_LOG, find_positions
from speed.routes.outputs import output_topics

_MAX_RECORDS = 100_000  # of one transaction; the broker aborts one that takes minutes


def tasks(settings: Settings, catalog: Catalog, run: RouteRun) -> dict[LogPartition, CopyTask]:
    """The next transactions by topic and partition; empty when all is copied, or during a handover.

    A run that does not own the route's topics never gets ahead of the owner, so that it can take over at any time.
    Raises Refused when Kafka removed records that are not copied yet.
    """
    route, history = catalog.route(run.route), route_runs.read_history(settings, run.route)
    if history.handover is not None:
        return {}
    positions = reached(settings, history, run)
    if not all(position.committed for position in positions.values()):
        positions |= find_positions(settings, route, history, run)
    require_all_there(settings, run, positions)
    planned: dict[LogPartition, CopyTask] = {}
    due = _due(settings, history, run, positions)
    if due:
        _require_same_log(settings, run, positions)
    for (topic, partition), span in due.items():
        owned_slice = next_slice(history.ownerships, run.id, span)
        outputs = output_topics(route, run.id, live=owned_slice.live)
        start = history.start(run).end(topic, partition)
        counts = topic_admin.ensure_copies(settings, outputs.values(), _width(settings, route), route.sources)
        planned[LogPartition(topic, partition)] = CopyTask(
            settings, run.id, owned_slice, start, len(history.ownerships), outputs, min(counts.values())
        )
    return planned


def reached(settings: Settings, history: RouteHistory, run: RouteRun) -> dict[LogPartition, Position]:
    """The position of a run in every partition."""
    start = history.start(run)
    return positions(settings, run.id, run.topics, {LogPartition(topic, p): end for topic, p, end in start.ends})


def require_same_definition(catalog: Catalog, run: RouteRun) -> None:
    """Raises Refused when the route changed since its run was declared."""
    if run.route not in catalog.routes or catalog.route_digest(run.route) != run.digest:
        raise route_refusal(run.route, run.id)


def require_same_topics(settings: Settings, run: RouteRun) -> None:
    """Raises Refused when a source was deleted and created again since the run was declared."""
    fix = "the route's topics hold copies of the old log: give the route another name"
    log_checks.require_same_topics(settings, run.topics, where=f"run {run.id} of route {run.route}", fix=fix)


def require_all_there(settings: Settings, run: RouteRun, positions: Mapping[LogPartition, Position]) -> None:
    """Raises Refused when Kafka removed records that the run has not copied yet."""
    position = _cut_of(positions)
    where = f"run {run.id} of route {run.route}, which has not copied them"
    fix = f"{log_checks.KEEP_RECORDS}; a route copies from the log alone"
    log_checks.require_unread_records(settings, run.topics, position, where=where, fix=fix)


def require_log_of_run(settings: Settings, run: RouteRun) -> None:
    """Raises Refused when the log has other records than those that the run copied."""
    _require_same_log(settings, run, reached(settings, route_runs.read_history(settings, run.route), run))


def _require_same_log(settings: Settings, run: RouteRun, positions: Mapping[LogPartition, Position]) -> None:
    marks = {where: reached.mark for where, reached in positions.items() if reached.mark}
    if marks:
        with record_reader(settings) as reader:
            log_marks.require_same_log(reader, marks, where=f"run {run.id} of route {run.route}", fix=OTHER_LOG)


def _due(
    settings: Settings, history: RouteHistory, run: RouteRun, at: Mapping[LogPartition, Position]
) -> dict[LogPartition, Span]:
    ends = kafka_admin.stable_ends(settings, run.topics)  # a reader would wait for the end of an open transaction
    position = _cut_of(at)
    if log_checks.lost_records(ends, position):  # perhaps for a moment, while a broker starts
        where = f"run {run.id} of route {run.route}"
        log_checks.require_no_lost_records(settings, tuple(run.topics), position, where=where, fix=OTHER_LOG)
    if history.owner is not None and history.owner != run.id:
        owner = reached(settings, history, history.runs[history.owner])
        since = history.ownerships[-1].since
        ends = Cut(tuple((t, p, max(owner[LogPartition(t, p)].offset, since.end(t, p))) for t, p, _ in ends.ends))
    spans = dict[LogPartition, Span]()
    for topic, number, end in ends.ends:
        partition = LogPartition(topic, number)
        start = at[partition].offset
        spans[partition] = Span(topic, number, start, min(end, start + _MAX_RECORDS))
    return {partition: span for partition, span in spans.items() if span.size > 0}


def _cut_of(positions: Mapping[LogPartition, Position]) -> Cut:
    return Cut(tuple((Name(topic), partition, reached.offset) for (topic, partition), reached in positions.items()))


def _width(settings: Settings, route: Route) -> int:
    return max(kafka_admin.partitions(settings, route.sources).values())
