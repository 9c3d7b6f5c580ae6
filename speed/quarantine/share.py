"""Topics of which more records are in quarantine than their files allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from core.catalog import Catalog
from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from core.sealed_topic import ERASED_RULE
from infra.control import redrives
from infra.control.manifest import last_epoch, last_epoch_before
from infra.control.runs import read_run
from infra.settings import Settings
from speed.quarantine import listing
from speed.quarantine.listing import BrokenRecord, QuarantineEntry
from speed.quarantine.newest_rules import newest_records

_RULES = 3


@dataclass(frozen=True)
class QuarantineShare:
    """Too many quarantined records of a topic: ``period`` says of which records.

    ``rules``: the rules that most of them broke, as far as they were looked at, with the share of each.
    """

    topic: Name
    period: str
    records: int
    quarantined: int
    allowed: int
    rules: Mapping[str, float]
    example: QuarantineEntry | None

    @property
    def line(self) -> str:
        """What is wrong and what to do, in one line."""
        share = self.quarantined / self.records
        text = f"{share:.1%} of {self.records:,} records of topic {self.topic} {self.period} are in quarantine: "
        text += f"{self.quarantined:,}, and its file allows {self.allowed:,}"
        rules = ", ".join(f"{rule} ({part:.0%})" for rule, part in self.rules.items())
        text += f"; most of them broke {rules}" if rules else ""
        place = self.example and f"{self.example.topic}/{self.example.partition}/{self.example.offset}"
        text += f"; for example {place}: {self.example.text}" if self.example else ""
        return f"{text}: see docs/runbooks/quarantine-growing.md"


@dataclass(frozen=True)
class Counted:
    """Counts of the records from the offsets of ``start`` on."""

    counts: Totals = field(default_factory=Totals)
    start: Cut = field(default_factory=Cut)


def of_run(settings: Settings, catalog: Catalog, run: Name) -> tuple[QuarantineShare, ...]:
    """The topics of a run with too many quarantined records."""
    last = last_epoch(settings, run)
    if last is None:
        return ()
    total = Counted(last.total, read_run(settings, run).start)
    return too_many(settings, catalog, total, last_hour(settings, run))


def last_hour(settings: Settings, run: Name) -> Counted:
    """What a run counted in the last hour."""
    last, before = last_epoch(settings, run), last_epoch_before(settings, run, datetime.now(UTC) - timedelta(hours=1))
    if last is None:
        return Counted()
    if before is None:
        return Counted(last.total, read_run(settings, run).start)
    return Counted(last.total - before.total, before.end)


def too_many(settings: Settings, catalog: Catalog, total: Counted, last_hour: Counted) -> tuple[QuarantineShare, ...]:
    """The topics with too many quarantined records in all, else in the last hour.

    Records that were redriven do not count. Those before the start of a period were not counted in it.
    """
    shares: dict[Name, QuarantineShare] = {}
    for period, counted in (("so far", total), ("in the last hour", last_hour)):
        for share in _too_many(settings, catalog, period, counted):
            shares.setdefault(share.topic, share)
    return tuple(shares.values())


def _too_many(settings: Settings, catalog: Catalog, period: str, counted: Counted) -> Iterator[QuarantineShare]:
    counts = _by_topic(counted.counts)
    over = {
        topic: catalog.topic(topic).allowed_in_quarantine(counts[topic].records)
        for topic in sorted(counts.keys() & catalog.topics.keys())
        if counts[topic].quarantined > catalog.topic(topic).allowed_in_quarantine(counts[topic].records)
    }
    sent_again = redrives.sent_from(settings, counted.start) if over else Counter[str]()
    for topic, allowed in over.items():
        records, quarantined = counts[topic].records, counts[topic].quarantined - sent_again[topic]
        looked_at = newest_records(settings, catalog, topic) if quarantined > allowed else []
        quarantined = _broken(looked_at, quarantined)
        if quarantined > allowed:
            rules = _rules(looked_at)
            example = _example(settings, catalog, topic, looked_at, rules)
            yield QuarantineShare(topic, period, records, quarantined, allowed, rules, example)


def _by_topic(totals: Totals) -> dict[Name, RecordCounts]:
    topics: dict[Name, RecordCounts] = {}
    for place, counts in totals.partitions.items():
        topic = Name(place.rpartition("/")[0])
        topics[topic] = topics.get(topic, RecordCounts()) + counts
    return topics


def _broken(looked_at: Sequence[BrokenRecord], quarantined: int) -> int:
    """About how many of the quarantined records are not there only because a person was erased."""
    erased = sum(record.rules == (ERASED_RULE,) for record in looked_at)
    return quarantined - quarantined * erased // max(1, len(looked_at))


def _rules(looked_at: Sequence[BrokenRecord]) -> dict[str, float]:
    """The rules that most records broke, with their shares."""
    broken = Counter(rule for record in looked_at for rule in record.rules if rule != ERASED_RULE)
    return {rule: count / len(looked_at) for rule, count in broken.most_common(_RULES)}


def _example(
    settings: Settings, catalog: Catalog, topic: Name, looked_at: Sequence[BrokenRecord], rules: Mapping[str, float]
) -> QuarantineEntry | None:
    """One of the records that broke one of the rules; only its bytes are read."""
    places = [record.at for record in looked_at if set(record.rules) & rules.keys()][:1]
    return next(iter(listing.entries_at(settings, catalog, topic, places)), None)
