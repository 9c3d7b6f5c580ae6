"""Record counts of a partition, and totals of all partitions and views of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.identifiers import Name
from core.positions import LogPartition


def account_for(records: int, offsets: int, *, gaps: bool) -> bool:
    """Whether so many records account for all of these offsets: one each; with ``gaps``, at most one each.

    A compacted topic has gaps: offsets whose records Kafka has removed.
    """
    return records <= offsets if gaps else records == offsets


@dataclass(frozen=True)
class RecordCounts:
    """Counted record by record, never computed from offsets: ``records`` = ``decoded`` + ``quarantined``."""

    records: int = 0
    decoded: int = 0
    quarantined: int = 0

    def __add__(self, other: RecordCounts) -> RecordCounts:
        return RecordCounts(
            self.records + other.records, self.decoded + other.decoded, self.quarantined + other.quarantined
        )

    def __sub__(self, other: RecordCounts) -> RecordCounts:
        return RecordCounts(
            self.records - other.records, self.decoded - other.decoded, self.quarantined - other.quarantined
        )

    @property
    def as_list(self) -> list[int]:
        """``[records, decoded, quarantined]``, as tables store it."""
        return [self.records, self.decoded, self.quarantined]


def of_topic(partitions: Mapping[str, RecordCounts], topic: str) -> RecordCounts:
    """The counts of a topic, over all its partitions."""
    return sum((counts for p, counts in partitions.items() if LogPartition.parse(p).topic == topic), RecordCounts())


@dataclass(frozen=True)
class Totals:
    """The counts of a sequence of epochs: ``topic/partition`` -> its records, and view -> the rows that events gave."""

    partitions: Mapping[str, RecordCounts] = field(default_factory=dict)
    rows: Mapping[Name, int] = field(default_factory=dict)

    def __add__(self, other: Totals) -> Totals:
        return self._combined(other, lambda a, b: a + b, lambda a, b: a + b)

    def __sub__(self, other: Totals) -> Totals:
        """The counts of the epochs that ``other`` lacks, when it counts the first ones of the same sequence."""
        return self._combined(other, lambda a, b: a - b, lambda a, b: a - b)

    def only(self, topic: str) -> Totals:
        """The records of one topic, without rows of views."""
        return Totals({p: counts for p, counts in self.partitions.items() if LogPartition.parse(p).topic == topic})

    def _combined(
        self,
        other: Totals,
        of_counts: Callable[[RecordCounts, RecordCounts], RecordCounts],
        of_rows: Callable[[int, int], int],
    ) -> Totals:
        keys = {**self.partitions, **other.partitions}
        views = {**self.rows, **other.rows}
        none = RecordCounts()
        return Totals(
            {p: of_counts(self.partitions.get(p, none), other.partitions.get(p, none)) for p in keys},
            {view: of_rows(self.rows.get(view, 0), other.rows.get(view, 0)) for view in views},
        )
