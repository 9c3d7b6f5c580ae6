"""Finds the position of a route's run again that its consumer group has lost, from the copies in the output topics.

Kafka forgets the offset of a group after some days without a commit, and an idle partition commits none. Copies carry
the place of their record, and are in its order: the last one tells how far the run came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from core.identifiers import Name
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin
from infra.kafka.route_positions import Position, copied_offsets
from infra.kafka.transactions import transaction
from infra.settings import Settings

Topics = Mapping[str, str]  # output -> topic


def find_positions(settings: Settings, history: RouteHistory, run: RouteRun, own: Topics, live: Topics) -> None:
    """Commits a position in every partition in which the run's group has none.

    A run copies to ``own`` topics until it owns the route's, then to the ``live`` ones.
    """
    counts, start = kafka_admin.partition_counts(settings), history.start(run)
    for part in kafka_admin.committed_partitions(settings, run.id, run.topics):
        if part.offset >= 0:
            continue
        with transaction(
            settings, run.id, part.topic, part.partition, start=start.end(part.topic, part.partition)
        ) as open_:
            if not open_.position.committed:  # now no older process of the run has a transaction open
                at = _copied(settings, history, run, (part.topic, part.partition), own, live, counts)
                open_.commit(replace(at or open_.position, ownership=len(history.ownerships), committed=True))


def _copied(
    settings: Settings,
    history: RouteHistory,
    run: RouteRun,
    place: tuple[str, int],
    own: Topics,
    live: Topics,
    counts: Mapping[str, int],
) -> Position | None:
    """The position after the last copy: in the live topics since the run owns them, else in its own."""
    topic, partition = place
    start = history.start(run).end(topic, partition)
    copied, end = Counter[str](), start
    for topics, is_live in ((own, False), (live, True)):
        existing = {output: name for output, name in topics.items() if name in counts}
        if existing:
            to = partition % min(counts[name] for name in existing.values())
            for output, offset in copied_offsets(settings, existing, topic, partition, to):
                if offset >= start and is_live == (_owner_of(history, topic, partition, offset) == run.id):
                    copied[output] += 1
                    end = max(end, offset + 1)
    return Position(end, {**copied, "": end - start - copied.total()}) if end > start else None


def _owner_of(history: RouteHistory, topic: str, partition: int, offset: int) -> Name | None:
    """The run that owned the live topics when it copied the record with this offset."""
    owners = [owned.run for owned in history.ownerships if owned.since.end(topic, partition) <= offset]
    return owners[-1] if owners else None
