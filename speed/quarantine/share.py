"""Topics of which more records are in quarantine than their files allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from core.catalog import Catalog
from core.event_columns import ERROR
from core.identifiers import Name
from core.sealed_topic import ERASED_RULE, subject_field
from infra.control import redrives
from infra.control.manifest import last_epoch
from infra.control.run_roles import serving_runs
from infra.control.runs import read_run
from infra.settings import Settings
from speed.quarantine import listing, quarantine_tables
from speed.quarantine.listing import BrokenRecord, QuarantineEntry
from speed.quarantine.newest_rules import newest_records
from speed.quarantine.quarantine_tables import QuarantineSource
from speed.quarantine.recent_counts import PeriodCounts, by_topic, recent_counts

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
        text += f"; for example {self.example.position}: {self.example.text}" if self.example else ""
        return f"{text}: see docs/runbooks/quarantine-growing.md"


def of_run(settings: Settings, catalog: Catalog, run: Name) -> tuple[QuarantineShare, ...]:
    """The topics of a run with too many quarantined records."""
    last = last_epoch(settings, run)
    if last is None:
        return ()
    total = PeriodCounts(last.total, read_run(settings, run).start, run=run)
    return too_many(settings, catalog, total, *recent_counts(settings, run))


def too_many(settings: Settings, catalog: Catalog, *periods: PeriodCounts) -> tuple[QuarantineShare, ...]:
    """The topics with too many quarantined records, each in the first period in which they are too many.

    Records that were redriven do not count. Those before the start of a period were not counted in it.
    """
    shares: dict[Name, QuarantineShare] = {}
    for counted in periods:
        others = sorted((by_topic(counted.counts).keys() & catalog.topics.keys()) - shares.keys())
        shares |= {share.topic: share for share in _too_many(settings, catalog, counted, others)}
    return tuple(shares.values())


def _too_many(
    settings: Settings, catalog: Catalog, counted: PeriodCounts, topics: Iterable[Name]
) -> Iterator[QuarantineShare]:
    counts = by_topic(counted.counts)
    over = {
        topic: catalog.topic(topic).allowed_in_quarantine(counts[topic].records)
        for topic in topics
        if counts[topic].quarantined > catalog.topic(topic).allowed_in_quarantine(counts[topic].records)
    }
    sent_again = redrives.sent_from(settings, counted.start) if over else Counter[str]()
    for topic, allowed in over.items():
        records, sent = counts[topic].records, sent_again[topic]
        if counts[topic].quarantined - sent <= allowed:
            continue
        where, source = _broken(counted, topic), _source(settings, counted)
        quarantined = counts[topic].quarantined
        if subject_field(catalog.topic(topic)) is not None:  # others have no records of erased persons
            quarantined = min(quarantined, listing.count_where(settings, catalog, topic, where, source))
        if quarantined - sent > allowed:
            looked_at = newest_records(settings, catalog, topic, where, source)
            rules = _rules(looked_at)
            example = _example(settings, catalog, topic, looked_at, rules)
            yield QuarantineShare(topic, counted.period, records, quarantined - sent, allowed, rules, example)


def _broken(counted: PeriodCounts, topic: Name) -> pc.Expression:
    """Records of the period that are in quarantine not only because a person was erased."""
    return quarantine_tables.from_offsets(counted.start, topic) & (pc.field(ERROR) != ERASED_RULE)


def _source(settings: Settings, counted: PeriodCounts) -> QuarantineSource:
    """Where the counted records are: another run may have other rows, as after an erasure."""
    if counted.run is not None:
        return quarantine_tables.only_of(settings, {counted.run}, archive=False)
    return quarantine_tables.only_of(settings, serving_runs(settings), archive=True)


def _rules(looked_at: Sequence[BrokenRecord]) -> dict[str, float]:
    """The rules that most records broke, with their shares."""
    broken = Counter(rule for record in looked_at for rule in record.rules if rule != ERASED_RULE)
    return {rule: count / len(looked_at) for rule, count in broken.most_common(_RULES)}


def _example(
    settings: Settings, catalog: Catalog, topic: Name, looked_at: Sequence[BrokenRecord], rules: Mapping[str, float]
) -> QuarantineEntry | None:
    """One of the records that broke one of the rules; only its bytes are read."""
    positions = [record.at for record in looked_at if set(record.rules) & rules.keys()][:1]
    return next(iter(listing.entries_at(settings, catalog, topic, positions)), None)
