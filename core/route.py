"""Definition of a route: records copied to other topics, each to the first output that takes it. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class When:
    """A Spark SQL predicate over the events of one source; null counts as false."""

    source: str
    sql: str


@dataclass(frozen=True)
class Output:
    """A topic that only the route writes. Without ``when`` it takes all remaining records, decoded or not."""

    name: str
    when: tuple[When, ...] = ()
    comment: str = ""


@dataclass(frozen=True)
class Route:
    """Copies each record of the sources unchanged to the first of ``outputs`` that takes it; to none if none does.

    Outputs have as many partitions as the largest source, and a record keeps its partition number.
    """

    name: str
    sources: tuple[str, ...]
    outputs: tuple[Output, ...]
    comment: str = ""
