"""Which part of the log each of many epochs reads, without a list of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.cut import Cut
from core.identifiers import Name

STEP_MS = 200  # between two epochs: five a second, as a light load makes them


@dataclass(frozen=True)
class _Reading:
    """The records that all epochs together read of one partition; ``index`` is its index among the partitions."""

    topic: Name
    partition: int
    start: int
    size: int
    index: int


@dataclass(frozen=True)
class EpochPlan:
    """``count`` epochs from number ``first`` on, which read the log from ``start`` to ``end`` in even steps.

    The partitions step one after another, so that few epochs are empty. ``last_ms`` is the time of the last epoch, in
    epoch milliseconds.
    """

    first: int
    count: int
    start: Cut
    end: Cut
    last_ms: int

    @property
    def last(self) -> int:
        """The number of the last epoch."""
        return self.first + self.count - 1

    def end_of(self, number: int) -> Cut:
        """Where an epoch ends; for the number before ``first``, where the first one starts."""
        epochs, partitions = number - self.first + 1, len(self.end.ends)
        rows = (
            (r.topic, r.partition, r.start + (epochs * r.size * partitions + r.index * self.count) // self._steps)
            for r in self._readings
        )
        return Cut(tuple(row for row in rows if row[2]))

    def time_of(self, number: int) -> int:
        """When an epoch was planned, in epoch milliseconds."""
        return self.last_ms - (self.last - number) * STEP_MS

    def number_sql(self, topic: str) -> str:
        """Spark SQL for the number of the epoch that reads a record of the topic."""
        partitions = len(self.end.ends)
        cases = []
        for r in self._readings:
            if r.topic == topic and r.size:
                width = r.size * partitions
                steps = f"((_offset - {r.start - 1}L) * {partitions}L - {r.index}L) * {self.count}L"
                cases.append(f"WHEN {r.partition} THEN {self.first - 1}L + ({steps} + {width - 1}L) div {width}L")
        return f"CASE _partition {' '.join(cases)} END"

    def divided(self, count: int) -> tuple[EpochPlan, EpochPlan]:
        """The first ``count`` epochs, and the others."""
        middle, last = self.end_of(self.first + count - 1), self.first + count - 1
        before = EpochPlan(self.first, count, self.start, middle, self.time_of(last))
        return before, EpochPlan(last + 1, self.count - count, middle, self.end, self.last_ms)

    def parts(self, size: int) -> Iterator[tuple[int, int]]:
        """First and last number of each part; parts end before multiples of ``size``."""
        first = self.first
        while first <= self.last:
            last = min(first - first % size + size - 1, self.last)
            yield first, last
            first = last + 1

    @property
    def _steps(self) -> int:
        return self.count * len(self.end.ends)

    @property
    def _readings(self) -> Iterator[_Reading]:
        for index, (topic, partition, end) in enumerate(self.end.ends):
            start = self.start.end(topic, partition)
            yield _Reading(topic, partition, start, end - start, index)
