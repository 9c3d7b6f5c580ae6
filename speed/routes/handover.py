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
    """Makes a run the owner of the route's topics from where the owner before it stopped; nothing if it is already.

    Raises Refused while the topics are being handed over to another run.
    """
    with locks.hold(settings, "routes") as lease:
        known = route_runs.read_history(settings, route)
        if known.handover not in (None, to):
            raise Refused(
                f"the topics of route {route} are being handed over to run {known.handover}",
                where="control.routes",
                fix=f"`lk route switch {route} --run {known.handover}` finishes it",
            )
        if known.handover is None and known.owner == to:
            return known
        faults.reach("handover.0_before_handover")
        if known.handover is None:
            route_runs.add_step(settings, lease, "handover", known.runs[to])
        cut = _closed(settings, known) if known.owner else Cut()
        faults.reach("handover.2_before_owner")
        lease.check()
        route_runs.add_step(settings, lease, "owner", known.runs[to], cut)
    faults.reach("handover.2_after_owner")
    return route_runs.read_history(settings, route)


def _closed(settings: Settings, known: RouteHistory) -> Cut:
    """Ends the owner's tenure in every partition, and says where."""
    assert known.owner
    old: RouteRun = known.runs[known.owner]
    found: dict[str, dict[int, int]] = {}
    places = [(topic, p) for topic, n in kafka_admin.partitions(settings, old.topics).items() for p in range(n)]
    with bar(f"closing {old.id}", len(places), "partitions") as done:
        for number, (topic, partition) in enumerate(places, 1):
            faults.reach("handover.1_in_handover")
            start = known.start(old).end(topic, partition)
            with transaction(settings, old.id, topic, partition, start=start) as open_:
                open_.commit(replace(open_.position, tenure=len(known.ownerships) + 1))
                found.setdefault(topic, {})[partition] = open_.position.offset
            done(number)
    return Cut.of(found)
