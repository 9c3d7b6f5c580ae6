"""Topics of which more records are in quarantine than their files allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
class LastHour:
    """What a run counted in the last hour, and where it began to: records from ``start`` on."""

    counted: Totals = field(default_factory=Totals)
    start: Cut = field(default_factory=Cut)


def of_run(settings: Settings, catalog: Catalog, run: Name) -> tuple[QuarantineShare, ...]:
    """The topics of a run with too many quarantined records."""
    last = last_epoch(settings, run)
    if last is None:
        return ()
    return too_many(settings, catalog, last.total, last_hour(settings, run))


def last_hour(settings: Settings, run: Name) -> LastHour:
    """What a run counted in the last hour."""
    last, before = last_epoch(settings, run), last_epoch_before(settings, run, datetime.now(UTC) - timedelta(hours=1))
    if last is None:
        return LastHour()
    if before is None:
        return LastHour(last.total, read_run(settings, run).start)
    return LastHour(last.total - before.total, before.end)


def too_many(settings: Settings, catalog: Catalog, total: Totals, last_hour: LastHour) -> tuple[QuarantineShare, ...]:
    """The topics with too many quarantined records in all, else in the last hour. Redriven records do not count."""
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    periods = (
        ("so far", _by_topic(total), redrives.sent_counts(settings)),
        ("in the last hour", _by_topic(last_hour.counted), redrives.sent_from(settings, Cut(), hour_ago)),
    )
    shares: dict[Name, QuarantineShare] = {}
    for period, counts, sent_again in periods:
        for topic in sorted(counts.keys() & catalog.topics.keys() - shares.keys()):
            records, quarantined = counts[topic].records, counts[topic].quarantined - sent_again[topic]
            allowed = catalog.topic(topic).allowed_in_quarantine(records)
            if quarantined > allowed:
                looked_at = newest_records(settings, catalog, topic)
                quarantined = _broken(looked_at, quarantined)
            if quarantined > allowed:
                rules = _rules(looked_at)
                example = _example(settings, catalog, topic, looked_at, rules)
                shares[topic] = QuarantineShare(topic, period, records, quarantined, allowed, rules, example)
    return tuple(shares.values())


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
