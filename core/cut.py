"""A cut: a vector of end offsets, never a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.identifiers import Name


@dataclass(frozen=True, order=True)
class Span:
    """Offsets ``start`` (inclusive) to ``end`` (exclusive) of one partition."""

    topic: Name
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """Number of offsets in the span."""
        return self.end - self.start

    def meets(self, other: Span) -> bool:
        """Whether the spans overlap."""
        same = (self.topic, self.partition) == (other.topic, other.partition)
        return same and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Cut:
    """Exclusive end offset per topic and partition; a partition that is not listed ends at 0.

    Cuts are partially ordered: ``a <= b`` when a ends no later than b in every partition.
    """

    ends: tuple[tuple[Name, int, int], ...] = ()

    @staticmethod
    def of(ends: Mapping[str, Mapping[int, int] | Mapping[str, int]]) -> Cut:
        """From ``{topic: {partition: end}}``; partitions may be text, as in JSON."""
        rows = ((Name(topic), int(p), int(end)) for topic, parts in ends.items() for p, end in parts.items())
        return Cut(tuple(sorted(row for row in rows if row[2] > 0)))

    @staticmethod
    def parse(text: str) -> Cut:
        """From the JSON of ``str(cut)``, which is also the format of Spark's offset log."""
        return Cut.of(json.loads(text))

    def __str__(self) -> str:
        return json.dumps(self.as_dict(), separators=(",", ":"))

    def as_dict(self) -> dict[str, dict[str, int]]:
        """``{topic: {partition: end}}`` with partitions as text, as JSON and Spark's options have it."""
        ends: dict[str, dict[str, int]] = {}
        for topic, partition, end in self.ends:
            ends.setdefault(topic, {})[str(partition)] = end
        return ends

    def end(self, topic: str, partition: int) -> int:
        """Exclusive end offset of one partition."""
        return {(t, p): end for t, p, end in self.ends}.get((Name(topic), partition), 0)

    @property
    def topics(self) -> tuple[Name, ...]:
        """The topics that do not end at 0 everywhere, by name."""
        return tuple(sorted({topic for topic, _, _ in self.ends}))

    @property
    def size(self) -> int:
        """Number of offsets below the cut."""
        return sum(end for _, _, end in self.ends)

    def only(self, topics: Iterable[str]) -> Cut:
        """The cut restricted to some topics."""
        names = set(topics)
        return Cut(tuple(row for row in self.ends if row[0] in names))

    def __le__(self, other: Cut) -> bool:
        return all(end <= other.end(topic, partition) for topic, partition, end in self.ends)

    def since(self, start: Cut) -> tuple[Span, ...]:
        """The non-empty spans from ``start`` to this cut, in order; without partitions that end before ``start``."""
        spans = (Span(topic, p, start.end(topic, p), end) for topic, p, end in self.ends)
        return tuple(span for span in spans if span.size > 0)

    def size_since(self, start: Cut) -> int:
        """Number of offsets between ``start`` and this cut."""
        return sum(span.size for span in self.since(start))

    def behind(self, other: Cut) -> tuple[Span, ...]:
        """The spans that ``other`` has beyond this cut; empty exactly when ``other <= self``."""
        return other.since(self)


def latest_ends(cuts: Iterable[Cut]) -> Cut:
    """The latest end of each partition that is in any of the cuts."""
    ends: dict[tuple[Name, int], int] = {}
    for topic, partition, end in (row for cut in cuts for row in cut.ends):
        ends[topic, partition] = max(end, ends.get((topic, partition), 0))
    return Cut(tuple(sorted((topic, partition, end) for (topic, partition), end in ends.items())))
