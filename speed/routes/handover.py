"""Hands a route's topics over from one run to another, at a cut that both runs agree on. Every step can be repeated.

0. Write the row `handover`. Fault point: ``handover.0_before_handover``.
1. Per partition, a transaction fences the process of the old run and commits its position again in the next ownership:
   a process that wakes up later finds that its own ownership has ended. The cut is the positions that these
   transactions read. Fault point: ``handover.1_in_handover``.
2. Write the row `owner` with the cut. Fault points: ``handover.2_before_owner``, ``handover.2_after_owner``.
"""

from __future__ import annotations

from dataclasses import replace

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.route import Route
from infra import faults
from infra.control import locks, route_runs
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin
from infra.kafka.transactions import transaction
from infra.progress_bar import bar
from infra.settings import Settings
from speed.routes.lost_positions import find_positions


def hand_over(settings: Settings, route: Route, to: Name) -> RouteHistory:
    """Makes a run the owner of the route's topics, from where the previous owner stopped; no change if it is the owner.

    Raises Refused while the topics are being handed over to another run.
    """
    name = Name(route.name)
    with locks.hold(settings, "routes") as lease:
        history = route_runs.read_history(settings, name)
        if history.handover not in (None, to):
            raise Refused(
                f"the topics of route {name} are being handed over to run {history.handover}",
                where="control.routes",
                fix=f"`lk route switch {name} --run {history.handover}` finishes it",
            )
        if history.handover is None and history.owner == to:
            return history
        faults.at("handover.0_before_handover")
        if history.handover is None:
            route_runs.add_step(settings, lease, "handover", history.runs[to])
        cut = _end_ownership(settings, route, history) if history.owner else Cut()
        faults.at("handover.2_before_owner")
        _begin_at(settings, history, history.runs[to], cut)
        lease.check()
        route_runs.add_step(settings, lease, "owner", history.runs[to], cut)
    faults.at("handover.2_after_owner")
    return route_runs.read_history(settings, name)


def _begin_at(settings: Settings, history: RouteHistory, run: RouteRun, cut: Cut) -> None:
    """Commits the cut as the start of a run that replays nothing and never owned the topics: it has copied nothing."""
    committed = kafka_admin.committed_partitions(settings, run.id, run.topics)
    is_new = all(owned.run != run.id for owned in history.ownerships)
    if is_new and not run.replays and all(part.offset < 0 for part in committed):
        kafka_admin.commit_offsets(settings, run.id, cut)


def _end_ownership(settings: Settings, route: Route, history: RouteHistory) -> Cut:
    """Ends the ownership in every partition; returns the positions at which it ended."""
    assert history.owner
    old: RouteRun = history.runs[history.owner]
    find_positions(settings, route, history, old)
    positions: dict[str, dict[int, int]] = {}
    partitions = [(topic, p) for topic, n in kafka_admin.partitions(settings, old.topics).items() for p in range(n)]
    with bar(f"closing {old.id}", len(partitions), "partitions") as show_progress:
        for number, (topic, partition) in enumerate(partitions, 1):
            faults.at("handover.1_in_handover")
            start = history.start(old).end(topic, partition)
            with transaction(settings, old.id, topic, partition, start=start) as open_:
                open_.commit(replace(open_.position, ownership=len(history.ownerships) + 1))
                positions.setdefault(topic, {})[partition] = open_.position.offset
            show_progress(number)
    return Cut.of(positions)
