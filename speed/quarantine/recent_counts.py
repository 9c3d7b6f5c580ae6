"""Recent record counts of a run: last hour, last day, newest records.

A topic that was healthy for years must not hide a load that is broken as a whole.

An hour shows soon that something breaks. A day leaves time to act. The records that came last show what a quiet topic
was left with: they count until newer ones follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from core.cut import Cut
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import RecordCounts, Totals
from core.topic import FEW_QUARANTINED
from infra.control.epoch_search import last_epoch_before, last_epoch_where
from infra.control.manifest import Epoch, last_epoch
from infra.control.runs import read_run
from infra.settings import Settings

NEWEST = 10_000  # records of a topic, and those that were committed together with the first of them
_TIMES = {"in the last hour": timedelta(hours=1), "in the last day": timedelta(days=1)}


@dataclass(frozen=True)
class PeriodCounts:
    """Counts of the records from the offsets of ``start`` on; ``period`` says which records these are.

    ``run`` is the run that counted them; None for what is served, which batch counted, too.
    """

    counts: Totals = field(default_factory=Totals)
    start: Cut = field(default_factory=Cut)
    period: str = "so far"
    run: Name | None = None


def recent_counts(settings: Settings, run: Name) -> tuple[PeriodCounts, ...]:
    """What a run counted in the last hour, in the last day, and of the newest records of each topic.

    A topic with so few records in quarantine that no period can have too many is left out of the last.
    """
    last = last_epoch(settings, run)
    if last is None:
        return ()
    now, start = datetime.now(UTC), read_run(settings, run).start
    counted = [
        _since(run, last, last_epoch_before(settings, run, now - duration), start, period)
        for period, duration in _TIMES.items()
    ]
    quarantined = {topic: counts.quarantined for topic, counts in by_topic(last.total).items()}
    for topic in sorted(topic for topic, count in quarantined.items() if count > FEW_QUARANTINED):
        newest = _since(run, last, _before_newest(settings, run, last, topic), start, "that came last")
        counted.append(replace(newest, counts=newest.counts.only(topic)))
    return tuple(counted)


def by_topic(totals: Totals) -> dict[Name, RecordCounts]:
    """The counts of each topic."""
    topics: dict[Name, RecordCounts] = {}
    for partition, counts in totals.partitions.items():
        topic = Name(LogPartition.parse(partition).topic)
        topics[topic] = topics.get(topic, RecordCounts()) + counts
    return topics


def _since(run: Name, last: Epoch, before: Epoch | None, start: Cut, period: str) -> PeriodCounts:
    if before is None:
        return PeriodCounts(last.total, start, period, run)
    return PeriodCounts(last.total - before.total, before.end, period, run)


def _before_newest(settings: Settings, run: Name, last: Epoch, topic: Name) -> Epoch | None:
    """The last epoch after which at least NEWEST offsets of a topic follow."""
    most = last.end.only([topic]).size - NEWEST
    return last_epoch_where(settings, run, "end", lambda end: Cut.parse(end).only([topic]).size <= most)
