"""The rules that the newest quarantined records of a topic broke; how many records are read is bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from core.catalog import Catalog
from core.identifiers import Name
from infra.settings import Settings
from speed.quarantine import listing
from speed.quarantine.listing import QuarantineEntry

LOOKED_AT = 10_000  # quarantined records whose rules are counted


@dataclass(frozen=True)
class NewestRule:
    """How many of the ``looked_at`` newest quarantined records of a topic broke a rule, and some of them."""

    topic: Name
    rule: str
    records: int
    looked_at: int
    examples: tuple[QuarantineEntry, ...]


def newest_entries(settings: Settings, catalog: Catalog, topic: Name) -> list[QuarantineEntry]:
    """The newest quarantined records of a topic, at most LOOKED_AT of them."""
    return list(islice(listing.newest_first(settings, catalog, topic), LOOKED_AT))


def newest_rules(settings: Settings, catalog: Catalog, topics: Iterable[Name], examples: int) -> tuple[NewestRule, ...]:
    """For each topic the rules that its newest quarantined records broke, most broken first."""
    return tuple(
        rule for topic in topics for rule in _counted(topic, newest_entries(settings, catalog, topic), examples)
    )


def _counted(topic: Name, entries: Sequence[QuarantineEntry], examples: int) -> Iterator[NewestRule]:
    broken = Counter(rule for entry in entries for rule in entry.rules)
    for rule, records in broken.most_common():
        of_rule = tuple(islice((entry for entry in entries if rule in entry.rules), examples))
        yield NewestRule(topic, rule, records, len(entries), of_rule)
