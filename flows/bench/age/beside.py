"""Figures of an aged instance beside those of a fresh one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import SparkSession

from flows.measure.figures import Figure
from flows.measure.live_system import LiveInstance

RATIO = 1.2  # an aged instance may take this much longer for a step
Measured = TypeVar("Measured")


@dataclass(frozen=True)
class AgedPair:
    """A fresh and an aged instance on one machine, each with a running speed process, and a session for both."""

    fresh: LiveInstance
    aged: LiveInstance
    spark: SparkSession

    @property
    def both(self) -> tuple[LiveInstance, LiveInstance]:
        """The fresh one, then the aged one."""
        return self.fresh, self.aged


@dataclass(frozen=True)
class Pairs:
    """One value of each instance for each repetition; they were measured in turn."""

    name: str
    what: str
    unit: str
    fresh: tuple[float, ...]
    aged: tuple[float, ...]
    how: str = ""

    def bounded(self, most: float | None = None) -> list[Figure]:
        """The aged values, which may have a bound, and the fresh ones."""
        return [
            Figure(f"age {self.name}", self.what, self.unit, self.aged, most=most, how=self.how),
            Figure(f"age {self.name} fresh", "the same in a fresh instance", self.unit, self.fresh),
        ]

    def ratio(self) -> list[Figure]:
        """The ratio of each repetition, with a bound, and both values."""
        ratios = tuple(aged / fresh for fresh, aged in zip(self.fresh, self.aged, strict=True))
        bounded = Figure(f"age {self.name}", f"{self.what}: aged by fresh", "×", ratios, most=RATIO, how=self.how)
        aged, fresh = self.bounded()
        return [bounded, Figure(f"{aged.name} aged", self.what, self.unit, self.aged), fresh]


def in_turn(pair: AgedPair, repeat: int, measure: Callable[[LiveInstance], Measured]) -> list[tuple[Measured, ...]]:
    """Measures both instances, the fresh one first, ``repeat`` times."""
    return [tuple(measure(live) for live in pair.both) for _ in range(repeat)]


def pairs(
    name: str,
    what: str,
    unit: str,
    turns: Sequence[Sequence[Measured]],
    value: Callable[[Measured], float],
    how: str = "",
) -> Pairs:
    """One value of each measurement of ``in_turn``."""
    fresh, aged = (tuple(value(turn[place]) for turn in turns) for place in (0, 1))
    return Pairs(name, what, unit, fresh, aged, how)
