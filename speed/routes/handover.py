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
from infra import faults
from infra.control import locks, route_runs
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin
from infra.kafka.transactions import transaction
from infra.progress_bar import bar
from infra.settings import Settings


def hand_over(settings: Settings, route: Name, to: Name) -> RouteHistory:
    """Makes a run the owner of the route's topics, from where the previous owner stopped; no change if it is the owner.

    Raises Refused while the topics are being handed over to another run.
    """
    with locks.hold(settings, "routes") as lease:
        history = route_runs.read_history(settings, route)
        if history.handover not in (None, to):
            raise Refused(
                f"the topics of route {route} are being handed over to run {history.handover}",
                where="control.routes",
                fix=f"`lk route switch {route} --run {history.handover}` finishes it",
            )
        if history.handover is None and history.owner == to:
            return history
        faults.at("handover.0_before_handover")
        if history.handover is None:
            route_runs.add_step(settings, lease, "handover", history.runs[to])
        cut = _end_ownership(settings, history) if history.owner else Cut()
        faults.at("handover.2_before_owner")
        _begin_at(settings, history.runs[to], cut)
        lease.check()
        route_runs.add_step(settings, lease, "owner", history.runs[to], cut)
    faults.at("handover.2_after_owner")
    return route_runs.read_history(settings, route)


def _position_lost(run: RouteRun, topic: str, partition: int) -> Refused:
    return Refused(
        f"the position of run {run.id} has expired, or was never found",
        where=f"topic {topic}, partition {partition}; nothing was handed over yet",
        fix=f"start it once with the definition that it had, it finds the position: `lk route start {run.route}`",
    )


def _begin_at(settings: Settings, run: RouteRun, cut: Cut) -> None:
    """Commits the cut as the start of a run that replays nothing and has copied nothing."""
    committed = kafka_admin.committed_partitions(settings, run.id, run.topics)
    if not run.replays and all(part.offset < 0 for part in committed):
        kafka_admin.commit_offsets(settings, run.id, cut)


def _end_ownership(settings: Settings, history: RouteHistory) -> Cut:
    """Ends the ownership in every partition; returns the positions at which it ended."""
    assert history.owner
    old: RouteRun = history.runs[history.owner]
    positions: dict[str, dict[int, int]] = {}
    places = [(topic, p) for topic, n in kafka_admin.partitions(settings, old.topics).items() for p in range(n)]
    with bar(f"closing {old.id}", len(places), "partitions") as show_progress:
        for number, (topic, partition) in enumerate(places, 1):
            faults.at("handover.1_in_handover")
            start = history.start(old).end(topic, partition)
            with transaction(settings, old.id, topic, partition, start=start) as open_:
                if not open_.position.committed:
                    raise _position_lost(old, topic, partition)
                open_.commit(replace(open_.position, ownership=len(history.ownerships) + 1))
                positions.setdefault(topic, {})[partition] = open_.position.offset
            show_progress(number)
    return Cut.of(positions)
