"""Finds the position of a route's run again that its consumer group has lost, from the copies in the output topics.

Kafka forgets the offset of a group after some days without a commit, and an idle partition commits none. Copies carry
the place of their record, and are in its order: the last one tells how far the run came.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from confluent_kafka import Message

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.route import Route
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin
from infra.kafka.log_reader import committed_records
from infra.kafka.route_positions import Position, copies
from infra.kafka.transactions import transaction
from infra.settings import Settings
from speed.routes.outputs import output_topics

Place = tuple[str, int]  # topic and partition of the source


def find_positions(settings: Settings, route: Route, history: RouteHistory, run: RouteRun) -> dict[Place, Position]:
    """Commits and returns a position in every partition in which the run's group has none.

    Raises Refused when the copies are not of the records that the log has.
    """
    positions: dict[Place, Position] = {}
    start, ends = history.start(run), kafka_admin.end_offsets(settings, run.topics)
    for part in kafka_admin.committed_partitions(settings, run.id, run.topics):
        place, begin = (part.topic, part.partition), start.end(part.topic, part.partition)
        if part.offset < 0:
            with transaction(settings, run.id, *place, start=begin) as open_:
                at = open_.position
                if not at.committed:  # now no older process of the run has a transaction open
                    at = _copied(settings, route, history, run, place, ends) or at
                    at = replace(at, ownership=len(history.ownerships), committed=True)
                    open_.commit(at)
            positions[place] = at
    return positions


def _copied(
    settings: Settings, route: Route, history: RouteHistory, run: RouteRun, place: Place, ends: Cut
) -> Position | None:
    """The position after the last copy of the run; None without copies.

    A run copies to the route's topics what it owns, and the rest to topics of its own.
    """
    start = history.start(run).end(*place)
    if ends.end(*place) <= start:
        return None
    counts, copied, end, last = kafka_admin.partition_counts(settings), Counter[str](), start, None
    for is_live in (False, True):
        topics = {o: topic for o, topic in output_topics(route, run.id, live=is_live).items() if topic in counts}
        if topics and (not is_live or any(owned.run == run.id for owned in history.ownerships)):
            to = place[1] % min(counts[topic] for topic in topics.values())
            for output, offset, copy in copies(settings, topics, *place, to):
                if offset >= start and is_live == (_owner_of(history, place, offset) == run.id):
                    copied[output] += 1
                    end, last = (offset + 1, copy) if offset >= end else (end, last)
    if last is None:
        return None
    _require_same_record(settings, place, end - 1, last, ends)
    return Position(end, {**copied, "": end - start - copied.total()})


def _owner_of(history: RouteHistory, place: Place, offset: int) -> Name | None:
    """The run that owned the live topics when it copied the record with this offset."""
    owners = [owned.run for owned in history.ownerships if owned.since.end(*place) <= offset]
    return owners[-1] if owners else None


def _require_same_record(settings: Settings, place: Place, offset: int, copy: Message, ends: Cut) -> None:
    """Raises Refused unless the log still has the record of the last copy, or has removed it."""
    records = committed_records(settings, *place, offset) if offset < ends.end(*place) else iter(())
    record = next(records, None)
    if record is not None and record.offset() != offset:
        return  # retention has removed it
    if record is None or _content(record) != _content(copy):
        raise Refused(
            "the output topics hold copies of another log",
            where=f"topic {place[0]}, partition {place[1]}, offset {offset}",
            fix="restore the log, or give the route's outputs other names",
        )


def _content(message: Message) -> tuple[bytes | None, bytes | None, int]:
    key, value = message.key(), message.value()
    return _bytes(key), _bytes(value), message.timestamp()[1]


def _bytes(value: object) -> bytes | None:
    return value if isinstance(value, bytes) else None
