"""What `lk bench growth` varies: one thing at a time, from a base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.identifiers import Name

RECORDS = 8_000_000
_MOST_BYTES = 2_400_000_000  # of a log


@dataclass(frozen=True)
class GrowthCase:
    """One replay of one log, of ``total`` records or fewer if they are large.

    ``workers`` are Spark's, which share the cores; 0 are threads of the driver.
    """

    partitions: int = 4
    record_bytes: int = 100
    keys: int = 1_000
    views: int = 1
    cores: int = 2
    workers: int = 0
    total: int = RECORDS

    def __str__(self) -> str:
        """What differs from the base."""
        different = [name for name in VALUES if getattr(self, name) != getattr(BASE, name)]
        return ", ".join(f"{LABELS[name]} {getattr(self, name):,}" for name in different) or "base"

    @property
    def topic(self) -> Name:
        """The topic with its log; cases that differ only in views, cores or workers share it."""
        return Name(f"growth_{self.partitions}_{self.record_bytes}_{self.keys}")

    @property
    def view_names(self) -> tuple[Name, ...]:
        """The views that the replay computes."""
        return tuple(Name(f"{self.topic}_{minutes}min") for minutes in range(1, self.views + 1))

    @property
    def records(self) -> int:
        """Records of its log."""
        return min(self.total, _MOST_BYTES // self.record_bytes)


BASE = GrowthCase()
VALUES: dict[str, tuple[int, ...]] = {
    "partitions": (1, 2, 4, 8, 16),
    "record_bytes": (100, 1_000, 10_000),
    "keys": (10, 1_000, 100_000, 1_000_000, 10_000_000),
    "views": (1, 3, 10, 30),
    "cores": (1, 2),
    "workers": (1, 2),
}
LABELS = {
    "partitions": "partitions",
    "record_bytes": "bytes a record",
    "keys": "keys",
    "views": "views",
    "cores": "threads",
    "workers": "Spark workers that share two cores",
}


def cases() -> Iterator[tuple[str, int, GrowthCase]]:
    """Each dimension with each of its values, and the case: the base where the value is the base's."""
    for dimension, values in VALUES.items():
        for value in values:
            yield dimension, value, replace(BASE, **{dimension: value})


def logs() -> list[GrowthCase]:
    """One case for each log, with the most views that are computed from it."""
    largest: dict[Name, GrowthCase] = {}
    for _, _, case in cases():
        if case.topic not in largest or case.views > largest[case.topic].views:
            largest[case.topic] = case
    return list(largest.values())
