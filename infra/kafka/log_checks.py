"""Checks that the log is still the one that was read: no topic was created again, no records were removed or lost.

A topic that was deleted and created again has other records at the same offsets. Kafka removes records when retention,
``delete_records`` or a broker's disk moves the log start offset. A broker that is restored from a copy loses its last
records, and gives their offsets to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.cut import Cut, Span
from core.errors import Refused
from core.identifiers import Name
from infra.kafka import admin_requests, kafka_admin
from infra.retry import retry_on
from infra.settings import Settings

KEEP_RECORDS = "set retention.ms=-1 on the topics"
RESTORE_LOG = (
    "restore the log; or compute everything from this one: `lk down`, move lake, checkpoints and trino out of the data "
    "folder, then `lk up` and `lk restore`"
)


def require_same_topics(settings: Settings, topic_ids: Mapping[Name, str], *, where: str, fix: str) -> None:
    """Raises Refused when a topic no longer has the recorded id: it was deleted and created again."""
    require_same_ids(topic_ids, kafka_admin.topic_ids(settings, topic_ids), where=where, fix=fix)


def require_same_ids(recorded: Mapping[Name, str], current: Mapping[Name, str], *, where: str, fix: str) -> None:
    """Raises Refused when a recorded topic id is not the current one: the topic was deleted and created again."""
    recreated = [topic for topic, topic_id in recorded.items() if current.get(topic) != topic_id]
    if recreated:
        ids = ", ".join(f"topic {topic} had id {recorded[topic]}, now {current.get(topic)}" for topic in recreated)
        raise Refused(f"deleted and created again: {', '.join(recreated)}", where=f"{where}: {ids}", fix=fix)


def require_unread_records(
    settings: Settings, topics: Iterable[Name], position: Cut, *, where: str, fix: str = KEEP_RECORDS
) -> None:
    """Raises Refused when the log of these topics starts after ``position``, up to which it was read."""
    removed = kafka_admin.start_offsets(settings, topics).since(position)
    if removed:
        raise records_removed(removed, where=where, fix=fix)


def lost_records(ends: Cut, position: Cut) -> tuple[Span, ...]:
    """The records below ``position`` that a log with these end offsets does not have: it went back."""
    return ends.behind(position)


def require_no_lost_records(settings: Settings, topics: Sequence[Name], position: Cut, *, where: str, fix: str) -> None:
    """Raises Refused when the log of these topics ends before ``position``, up to which it was read.

    A broker that starts may answer an earlier end for some moments.
    """

    def require_end() -> None:
        lost = lost_records(kafka_admin.end_offsets(settings, topics), position.only(topics))
        if lost:
            raise log_went_back(lost, where=where, fix=fix)

    retry_on(Refused, require_end, admin_requests.DEADLINE, every=0.5)


def log_went_back(spans: Sequence[Span], *, where: str, fix: str) -> Refused:
    """The error for records that were read and are not in the log any more."""
    places = "; ".join(f"{s.topic}, partition {s.partition} ends at {s.start}, was read up to {s.end}" for s in spans)
    return Refused(f"the log went back: {places}", where=where, fix=fix)


def missing_records(settings: Settings, spans: Sequence[Span]) -> list[Span]:
    """The parts of these spans of one or more topics that lie before the log start offset or after the log end."""
    topics = {span.topic for span in spans}
    starts, ends = kafka_admin.start_offsets(settings, topics), kafka_admin.end_offsets(settings, topics)
    missing = []
    for span in spans:
        topic, partition = span.topic, span.partition
        start, end = starts.end(topic, partition), ends.end(topic, partition)
        missing.append(Span(topic, partition, span.start, min(start, span.end)))
        missing.append(Span(topic, partition, max(end, start, span.start), span.end))
    return [span for span in missing if span.size > 0]


def records_removed(spans: Sequence[Span], *, where: str, fix: str) -> Refused:
    """The error for records that Kafka no longer has, by topic, partition and offsets."""
    places = "; ".join(f"{s.topic}, partition {s.partition}, offsets {s.start} to {s.end - 1}" for s in spans)
    return Refused(f"records are no longer in the log: {places}", where=where, fix=fix)
