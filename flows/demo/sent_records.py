"""Every record that the demo sends, by purpose: at the end Kafka and each served view count the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from core.catalog import Catalog
from core.identifiers import Name
from flows.measure import demo_queries
from flows.measure.demo_queries import BY_DAY, BY_HOUR, BY_PATH, BY_WINDOW
from flows.measure.expected import QUARANTINED, NumberCheck, same
from flows.measure.load import TRADES
from infra.kafka import kafka_admin
from infra.settings import Settings

REQUEST_LOG = Name("access_log")
VIEWS = {REQUEST_LOG: (BY_HOUR, BY_PATH), TRADES: (BY_DAY, BY_WINDOW)}
_INVALID = {REQUEST_LOG: QUARANTINED, TRADES: 0}  # records that cannot be decoded: a fact of the log, none is generated


@dataclass(frozen=True)
class SentRecords:
    """Records that the demo sent to a topic for one purpose; Kafka acknowledged all of them."""

    topic: Name
    purpose: str
    count: int


@dataclass(frozen=True)
class SentCounts:
    """One topic at the end: the records that were sent, those that Kafka holds, and the events that each view counts.

    ``valid`` is how many of the records can be decoded.
    """

    topic: Name
    sent: int
    valid: int
    log: int
    views: Mapping[Name, int]

    @property
    def ok(self) -> bool:
        """Whether no record is missing or counted twice, in Kafka and in every view."""
        return all(check.ok for check in checks([self]))


def counts_at_end(settings: Settings, catalog: Catalog, sent: Sequence[SentRecords]) -> tuple[SentCounts, ...]:
    """The counts of both topics, when everything that was sent has been read."""
    log = kafka_admin.end_offsets(settings, list(VIEWS))
    return tuple(
        topic_counts(
            topic,
            sent,
            log=log.only([topic]).size,
            views={view: demo_queries.total(settings, catalog, view) for view in views},
        )
        for topic, views in VIEWS.items()
    )


def topic_counts(topic: Name, sent: Sequence[SentRecords], *, log: int, views: Mapping[Name, int]) -> SentCounts:
    """The counts of one topic; ``log`` and ``views`` are what Kafka and Trino answer."""
    total = sum(records.count for records in sent if records.topic == topic)
    return SentCounts(topic, total, total - _INVALID[topic], log, views)


def checks(counts: Sequence[SentCounts]) -> Iterator[NumberCheck]:
    """Compares what was sent with Kafka and with every view."""
    for topic in counts:
        yield same(f"records sent to {topic.topic}, in Kafka at the end", topic.sent, topic.log)
        for view, events in topic.views.items():
            yield same(f"valid records of {topic.topic}, in {view} at the end", topic.valid, events)
