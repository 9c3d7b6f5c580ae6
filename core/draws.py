"""Random draws for one generated event: a pure function of the seed, the event's number and the draws before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
_MASK = 2**64 - 1


@dataclass
class Draws:
    """``number`` is the event's index in its topic; an ``unmatched`` event shall have no partner in other topics."""

    seed: int
    number: int
    unmatched: bool = False
    _drawn: int = field(default=0, repr=False)

    def below(self, end: int) -> int:
        """A whole number from 0 to ``end`` - 1."""
        return self._next() % end

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def chance(self, share: float) -> bool:
        """True in this share of draws."""
        return self._next() < share * 2.0**64

    def _next(self) -> int:
        """SplitMix64 of the seed, the event's number and the count of draws."""
        self._drawn += 1
        salted = self.seed * 0x9E3779B97F4A7C15 + self.number * 0xD1B54A32D192ED03 + self._drawn * 0x8CB92BA72F3D8DD7
        return _mixed(_mixed(salted & _MASK))


def _mixed(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
