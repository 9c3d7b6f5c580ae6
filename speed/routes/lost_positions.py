"""Finds the position of a route's run again that its consumer group has lost, from the copies in the output topics.

Kafka forgets the offset of a group after some days without a commit, and an idle partition commits none. A copy carries
the position of its record, and copies are in the order of their records: the offset follows from the last copy. Where
retention may have removed that copy, the route is refused, and an operator sets the offset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from confluent_kafka import Message

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from core.positions import LogPartition
from core.route import Output, Route
from infra.control.route_runs import RouteHistory, RouteRun
from infra.kafka import kafka_admin
from infra.kafka.log_reader import committed_records
from infra.kafka.message_content import bytes_of
from infra.kafka.route_positions import Position, copied_to, copies
from infra.kafka.transactions import transaction
from infra.settings import Settings
from speed.routes.outputs import output_topics

OTHER_LOG = "restore the log, or give the route's outputs other names"


@dataclass
class _Search:
    """The copies of one source partition in the outputs: their number by output, and the last of them.

    ``end`` is after its record. ``read`` are the partitions of each topic that may hold copies; ``holding`` are those
    that hold some, also of an earlier owner: retention removes the oldest first, so no later one is gone.
    """

    end: int
    last: Message | None = None
    copied: Counter[str] = field(default_factory=Counter)
    read: dict[str, tuple[int, ...]] = field(default_factory=dict)
    holding: set[LogPartition] = field(default_factory=set)

    def add(self, output: str, at: LogPartition, offset: int, copy: Message) -> None:
        """Counts a copy of the run."""
        self.copied[output] += 1
        self.holding.add(at)
        if offset >= self.end:
            self.end, self.last = offset + 1, copy


def find_positions(
    settings: Settings, route: Route, history: RouteHistory, run: RouteRun
) -> dict[LogPartition, Position]:
    """Commits and returns a position in every partition in which the run's group has none.

    Raises Refused when the copies are not of the records that the log has, or when retention may have removed them.
    """
    positions: dict[LogPartition, Position] = {}
    start, ends = history.start(run), kafka_admin.end_offsets(settings, run.topics)
    for part in kafka_admin.committed_partitions(settings, run.id, run.topics):
        partition, begin = LogPartition(part.topic, part.partition), start.end(part.topic, part.partition)
        if part.offset < 0:
            with transaction(settings, run.id, *partition, start=begin) as open_:
                at = open_.position
                if not at.committed:  # now no older process of the run has a transaction open
                    at = _copied(settings, route, history, run, partition, ends) or at
                    at = replace(at, ownership=len(history.ownerships), committed=True)
                    open_.commit(at)
            positions[partition] = at
    return positions


def _copied(
    settings: Settings, route: Route, history: RouteHistory, run: RouteRun, partition: LogPartition, ends: Cut
) -> Position | None:
    """The position after the last copy of the run; None without copies.

    A run copies to the route's topics what it owns, and the rest to topics of its own.
    """
    start = history.start(run).end(*partition)
    if ends.end(*partition) <= start:
        return None
    counts, search = kafka_admin.partition_counts(settings), _Search(start)
    for is_live in (False, True):
        if not is_live or any(owned.run == run.id for owned in history.ownerships):
            topics = output_topics(route, run.id, live=is_live)
            for output in (each for each in route.outputs if topics[each.name] in counts):
                topic = topics[output.name]
                partitions = copied_to(partition.partition, counts[topic])
                if _takes(output, partition.topic):
                    search.read[topic] = partitions
                for to, offset, copy in copies(settings, topic, partitions, *partition):
                    if offset < start:
                        search.holding.add(LogPartition(topic, to))
                    elif is_live == (_owner_of(history, partition, offset) == run.id):
                        search.add(output.name, LogPartition(topic, to), offset, copy)
    if search.end < ends.end(*partition):
        _require_last_copies(settings, route, run, partition, search)
    if search.last is None:
        return None
    _require_same_record(settings, partition, search.end - 1, search.last, ends)
    return Position(search.end, {**search.copied, "": search.end - start - search.copied.total()})


def _takes(output: Output, source: str) -> bool:
    return not output.when or any(when.source == source for when in output.when)


def _require_last_copies(
    settings: Settings, route: Route, run: RouteRun, partition: LogPartition, search: _Search
) -> None:
    """Raises Refused when an output without a copy has lost its first records: the last copy may be among them."""
    starts = kafka_admin.start_offsets(settings, search.read)  # after the search: retention goes on meanwhile
    for topic, partitions in search.read.items():
        to = _without_copies(topic, partitions, search.holding, starts)
        if to is not None:
            source, number = partition
            raise Refused(
                f"the position of route {route.name} is lost, and retention has removed records of an output that may "
                "have been its last copies",
                where=f"run {run.id}, topic {source}, partition {number}: output {topic}, partition {to}, "
                f"begins at offset {starts.end(topic, to)}",
                fix=f"`lk route stop {route.name}`; find the last record that was copied; set the next offset, 0 if "
                f"none was: `kafka-consumer-groups.sh --group {run.id} --topic {source}:{number} --reset-offsets "
                f"--to-offset OFFSET --execute`; start the route. Or give its outputs other names",
            )


def _without_copies(
    topic: str, partitions: tuple[int, ...], holding: Collection[LogPartition], starts: Cut
) -> int | None:
    """A partition without copies, from which records were removed, and which may have had the last; None without."""
    for to in partitions:
        if (topic, to) in holding:
            return None  # those of an earlier partition count are older
        if starts.end(topic, to) > 0:
            return to
    return None


def _owner_of(history: RouteHistory, partition: LogPartition, offset: int) -> Name | None:
    """The run that owned the live topics when it copied the record with this offset."""
    owners = [owned.run for owned in history.ownerships if owned.since.end(*partition) <= offset]
    return owners[-1] if owners else None


def _require_same_record(settings: Settings, partition: LogPartition, offset: int, copy: Message, ends: Cut) -> None:
    """Raises Refused unless the log still has the record of the last copy, or has removed it."""
    records = committed_records(settings, *partition, offset) if offset < ends.end(*partition) else iter(())
    record = next(records, None)
    if record is not None and record.offset() != offset:
        return  # retention has removed it
    if record is None or _content(record) != _content(copy):
        raise Refused(
            "the output topics hold copies of another log",
            where=f"topic {partition.topic}, partition {partition.partition}, offset {offset}",
            fix=OTHER_LOG,
        )


def _content(message: Message) -> tuple[bytes | None, bytes | None, int]:
    return bytes_of(message.key()), bytes_of(message.value()), message.timestamp()[1]
