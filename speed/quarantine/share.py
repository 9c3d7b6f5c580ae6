"""Topics of which more records are in quarantine than their files allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.catalog import Catalog
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from core.sealed_topic import ERASED_RULE
from infra.control import redrives
from infra.control.manifest import counted_in_the_hour, last_epoch
from infra.control.redrives import Redrive
from infra.settings import Settings
from speed.quarantine.listing import QuarantineEntry
from speed.quarantine.newest_rules import newest_entries

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


def of_run(settings: Settings, catalog: Catalog, run: Name) -> tuple[QuarantineShare, ...]:
    """The topics of a run with too many quarantined records."""
    last = last_epoch(settings, run)
    if last is None:
        return ()
    return too_many(settings, catalog, last.total, counted_in_the_hour(settings, run, last, datetime.now(UTC)))


def last_hour(settings: Settings, run: Name) -> Totals:
    """What a run counted in the last hour."""
    return counted_in_the_hour(settings, run, last_epoch(settings, run), datetime.now(UTC))


def too_many(settings: Settings, catalog: Catalog, total: Totals, last_hour: Totals) -> tuple[QuarantineShare, ...]:
    """The topics with too many quarantined records in all, else in the last hour. Redriven records do not count."""
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    completed = [redrive for redrive in redrives.read_redrives(settings) if redrive.state == "done"]
    periods = (
        ("so far", _by_topic(total), _sent_again(completed)),
        ("in the last hour", _by_topic(last_hour), _sent_again(r for r in completed if r.at >= hour_ago)),
    )
    shares: dict[Name, QuarantineShare] = {}
    for period, counts, sent_again in periods:
        for topic in sorted(counts.keys() & catalog.topics.keys() - shares.keys()):
            records, quarantined = counts[topic].records, counts[topic].quarantined - sent_again[topic]
            allowed = catalog.topic(topic).allowed_in_quarantine(records)
            if quarantined > allowed:
                entries = newest_entries(settings, catalog, topic)
                quarantined = _broken(entries, quarantined)
            if quarantined > allowed:
                rules, example = _rules(entries)
                shares[topic] = QuarantineShare(topic, period, records, quarantined, allowed, rules, example)
    return tuple(shares.values())


def _by_topic(totals: Totals) -> dict[Name, RecordCounts]:
    topics: dict[Name, RecordCounts] = {}
    for place, counts in totals.partitions.items():
        topic = Name(place.rpartition("/")[0])
        topics[topic] = topics.get(topic, RecordCounts()) + counts
    return topics


def _sent_again(completed: Iterable[Redrive]) -> Counter[str]:
    """Topic -> how many of its records were redriven."""
    return Counter(origin.split("/")[0] for redrive in completed for origin in redrive.origins)


def _broken(entries: Sequence[QuarantineEntry], quarantined: int) -> int:
    """About how many of the quarantined records are not there only because a person was erased."""
    erased = sum(entry.rules == (ERASED_RULE,) for entry in entries)
    return quarantined - quarantined * erased // max(1, len(entries))


def _rules(entries: Sequence[QuarantineEntry]) -> tuple[dict[str, float], QuarantineEntry | None]:
    """The rules that most records broke, with their shares, and one of the records."""
    broken = Counter(rule for entry in entries for rule in entry.rules if rule != ERASED_RULE)
    shares = {rule: count / len(entries) for rule, count in broken.most_common(_RULES)}
    example = next((entry for entry in entries if set(entry.rules) & shares.keys()), None)
    return shares, example
