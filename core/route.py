"""What a route is: records copied to other topics, each to the first output that wants it. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class When:
    """A Spark SQL predicate over the events of one source; null does not hold."""

    source: str
    sql: str


@dataclass(frozen=True)
class Output:
    """A topic of the route's own. Without ``when`` it takes all that is left, records that do not decode included."""

    name: str
    when: tuple[When, ...] = ()
    comment: str = ""


@dataclass(frozen=True)
class Route:
    """Each record of the sources goes, as it is, to the first of ``outputs`` that wants it; to none if none does.

    Outputs have as many partitions as the largest source, and records stay in the partition of their number.
    """

    name: str
    sources: tuple[str, ...]
    outputs: tuple[Output, ...]
    comment: str = ""
