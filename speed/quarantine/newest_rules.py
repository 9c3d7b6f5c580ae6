"""The rules that the newest quarantined records of a topic broke; how many records are read is bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow.compute as pc

from core.catalog import Catalog
from core.identifiers import Name
from infra.settings import Settings
from speed.quarantine import listing, quarantine_tables
from speed.quarantine.listing import BrokenRecord, QuarantineEntry
from speed.quarantine.quarantine_tables import QuarantineSource

LOOKED_AT = 10_000  # quarantined records whose rules are counted
_TABLES = 3  # a run in Lambda, a replay and the archive may each hold a record; of more, fewer records are counted


@dataclass(frozen=True)
class NewestRule:
    """How many of the ``looked_at`` newest quarantined records of a topic broke a rule, and some of them."""

    topic: Name
    rule: str
    records: int
    looked_at: int
    examples: tuple[QuarantineEntry, ...]


def newest_records(
    settings: Settings,
    catalog: Catalog,
    topic: Name,
    where: pc.Expression | None = None,
    source: QuarantineSource | None = None,
) -> list[BrokenRecord]:
    """The newest quarantined records of a topic without their bytes, each once, at most LOOKED_AT of them."""
    of_tables = islice(listing.newest_first(settings, catalog, topic, where, source), _TABLES * LOOKED_AT)
    records: dict[tuple[int, int], BrokenRecord] = {}
    for record in of_tables:
        records.setdefault(record.at, record)
        if len(records) == LOOKED_AT:
            break
    return list(records.values())


def newest_rules(settings: Settings, catalog: Catalog, topics: Iterable[Name], examples: int) -> tuple[NewestRule, ...]:
    """For each topic the rules that its newest quarantined records broke, most broken first."""
    source = quarantine_tables.everywhere(settings)
    return tuple(rule for topic in topics for rule in _counted(settings, catalog, topic, source, examples))


def _counted(
    settings: Settings, catalog: Catalog, topic: Name, source: QuarantineSource, examples: int
) -> Iterator[NewestRule]:
    records = newest_records(settings, catalog, topic, source=source)
    broken = Counter(rule for record in records for rule in record.rules)
    shown = {rule: [r.at for r in islice((r for r in records if rule in r.rules), examples)] for rule in broken}
    every = {at for positions in shown.values() for at in positions}
    entries = {(e.partition, e.offset): e for e in listing.entries_at(settings, catalog, topic, every, source)}
    for rule, count in broken.most_common():
        of_rule = tuple(entries[at] for at in shown[rule] if at in entries)
        yield NewestRule(topic, rule, count, len(records), of_rule)
