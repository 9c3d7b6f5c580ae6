"""Which records to generate, and what a topic's file gives for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.draws import Draws
from core.errors import Usage

DISORDER_MS = 3_000  # an out-of-order event steps back by at most this much
_SHARES = ("late", "out_of_order", "duplicate", "unmatched", "bad")


@dataclass(frozen=True)
class SampleSpec:
    """Which records to generate. ``start`` is epoch milliseconds; event n happens n / ``rate`` seconds later.

    Shares from 0 to 1: ``late`` by up to ``late_by`` milliseconds, ``out_of_order`` by up to DISORDER_MS, ``duplicate``
    of an earlier record, byte for byte, ``unmatched`` in other topics, ``bad`` (not UTF-8, so not decodable).
    Raises Usage for impossible numbers.
    """

    seed: int
    start: int
    rate: float = 1_000.0
    late: float = 0.0
    late_by: int = 3_600_000
    out_of_order: float = 0.0
    duplicate: float = 0.0
    unmatched: float = 0.0
    bad: float = 0.0

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise Usage(f"a rate of {self.rate} records per second is impossible", fix="use a rate above 0")
        if self.late_by < 1:
            raise Usage(f"a delay of up to {self.late_by} ms is impossible", fix="use at least 1 ms")
        for name in _SHARES:
            if not 0 <= getattr(self, name) <= 1:
                raise Usage(f"a share of {getattr(self, name)} for {name} is impossible", fix="use a share from 0 to 1")
        if self.late + self.out_of_order > 1:
            raise Usage(
                f"shares of {self.late} late and {self.out_of_order} out of order are impossible",
                fix="use shares that add up to at most 1",
            )

    @property
    def is_regular(self) -> bool:
        """Whether each record is good, matched, and of an event of its own."""
        return not (self.duplicate or self.bad or self.unmatched)

    def due(self, number: int) -> int:
        """When event ``number`` happens if it is on time, in epoch milliseconds."""
        return self.start + int(number * 1_000 / self.rate)


class SampleRecord(NamedTuple):
    """A record as a producer sends it; ``at`` is the event's time in epoch milliseconds."""

    key: bytes | None
    value: bytes | None
    at: int


@dataclass(frozen=True)
class BlockGenerator:
    """Generates the good records of many event numbers at once, for a topic that gets millions of records.

    ``records`` may use the seed, start, rate and delays of the spec. It does not generate repeated or bad records.
    """

    records: Callable[[SampleSpec, Sequence[int]], Iterator[SampleRecord]]


# One event: its fields without the event time, or a line.
EventGenerator = Callable[[Draws], Mapping[str, object] | str]
