"""The exact measures of rollup views: partial values add up, however the events are split.

A measure has ``stored`` columns and three kinds of SQL: ``aggregate`` (Spark SQL over the rows of one topic),
``finish`` (Spark SQL from those aggregates to stored columns) and ``combine`` (over stored columns, for Spark and Trino
alike). Averages and rates are presentation, not measures. Idea: the monoids of Twitter's Summingbird and Algebird.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

# A total order of all events; structs compare field by field, left to right.
POSITION_TYPE = "struct<event_time:timestamp,_topic:string,_partition:int,_offset:bigint>"

# Within a block of offsets one long orders the events; Spark aggregates by anything wider only after sorting all rows.
_BITS = 20  # of the offset; the 43 bits above hold the event time in milliseconds
_MASK = 2**_BITS - 1
BLOCK = {"_topic": "_topic", "_partition": "_partition", "_block": f"shiftright(_offset, {_BITS})"}
ORDER = {"_nth": f"shiftleft(unix_millis(event_time), {_BITS}) | (_offset & {_MASK})"}
# Of a compacted topic: compaction keeps the last offset of a key, also where the clock of the broker stepped back.
LOG_ORDER = {"_nth": f"_offset & {_MASK}"}


@dataclass(frozen=True)
class Column:
    """A stored column: its name and Spark SQL type."""

    name: str
    type: str


@dataclass(frozen=True)
class Measure:
    """Base of all measures. ``of`` is a Spark SQL expression over an event."""

    name: str
    of: str = ""
    comment: str = ""

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns of the measure in tables."""
        raise NotImplementedError

    @property
    def by_block(self) -> bool:
        """Whether ``aggregate`` is per block of offsets, so that ``combine`` must follow."""
        return False

    @property
    def aggregate(self) -> dict[str, str]:
        """Column -> Spark SQL aggregate over the rows of one topic."""
        raise NotImplementedError

    @property
    def finish(self) -> dict[str, str]:
        """Stored column -> Spark SQL over the columns of ``aggregate``."""
        return {column.name: column.name for column in self.stored}

    @property
    def combine(self) -> dict[str, str]:
        """Stored column -> SQL aggregate over partial rows, for Spark and Trino alike."""
        raise NotImplementedError


@dataclass(frozen=True)
class Count(Measure):
    """The number of rows; with ``of``, of rows for which that predicate is true."""

    @property
    def stored(self) -> tuple[Column, ...]:
        return (Column(self.name, "bigint"),)

    @property
    def aggregate(self) -> dict[str, str]:
        return {self.name: f"count_if({self.of})" if self.of else "count(1)"}

    @property
    def combine(self) -> dict[str, str]:
        return {self.name: f"sum({self.name})"}


@dataclass(frozen=True)
class Sum(Measure):
    """Sum of integers or decimals with ``scale`` decimal places, as decimal(38, scale). Null when all are null."""

    scale: int = 0

    @property
    def stored(self) -> tuple[Column, ...]:
        return (Column(self.name, f"decimal(38,{self.scale})"),)

    @property
    def value(self) -> str:
        """The value of a row, whose digits Spark's sum can count ten billion times: 28 + 10 = 38, its maximum."""
        return f"cast({self.of} as decimal(28,{self.scale}))"

    @property
    def aggregate(self) -> dict[str, str]:
        return {self.name: f"sum({self.value})"}

    @property
    def combine(self) -> dict[str, str]:
        return {self.name: f"sum({self.name})"}


@dataclass(frozen=True)
class _Extreme(Measure):
    """The value that a Spark function selects, of declared Spark ``type``."""

    type: str = "bigint"
    function: ClassVar[str]

    @property
    def stored(self) -> tuple[Column, ...]:
        return (Column(self.name, self.type),)

    @property
    def aggregate(self) -> dict[str, str]:
        return {self.name: f"{self.function}({self.of})"}

    @property
    def combine(self) -> dict[str, str]:
        return {self.name: f"{self.function}({self.name})"}


@dataclass(frozen=True)
class Min(_Extreme):
    """Smallest value, of declared Spark ``type``."""

    function: ClassVar[str] = "min"


@dataclass(frozen=True)
class Max(_Extreme):
    """Largest value, of declared Spark ``type``."""

    function: ClassVar[str] = "max"


@dataclass(frozen=True)
class Latest(Measure):
    """Value of the last event by (event time, topic, partition, offset); the position is stored beside it.

    In a compacted topic the last offset of the key's partition counts, and the stored position has the time 0.
    If the event was exploded into several rows, the last element wins.
    """

    type: str = "string"

    @property
    def at(self) -> str:
        """The hidden column with the position of that event."""
        return f"_{self.name}_at"

    @property
    def stored(self) -> tuple[Column, ...]:
        return (Column(self.name, self.type), Column(self.at, POSITION_TYPE))

    @property
    def by_block(self) -> bool:
        return True

    @property
    def aggregate(self) -> dict[str, str]:
        extreme = self._extreme
        return {self.name: f"{extreme}_by({self.of}, _order)", f"_{self.name}_nth": f"{extreme}(_nth)"}

    @property
    def finish(self) -> dict[str, str]:
        nth = f"_{self.name}_nth"
        time = f"timestamp_millis(shiftright({nth}, {_BITS})) as event_time"
        offset = f"shiftleft(_block, {_BITS}) | ({nth} & {_MASK}) as _offset"
        return {self.name: self.name, self.at: f"struct({time}, _topic, _partition, {offset})"}

    @property
    def combine(self) -> dict[str, str]:
        extreme = self._extreme
        return {self.name: f"{extreme}_by({self.name}, {self.at})", self.at: f"{extreme}({self.at})"}

    @property
    def _extreme(self) -> str:
        return "max"


@dataclass(frozen=True)
class First(Latest):
    """Value of the first event in the same order."""

    @property
    def _extreme(self) -> str:
        return "min"
