"""The closed set of exact measures: each adds up, whatever way the events are split.

A measure knows its ``stored`` columns and three kinds of text: ``aggregate`` (Spark SQL over the rows of one topic),
``finish`` (what makes stored columns of that) and ``combine`` (over stored columns, the same text in Spark and in
Trino). Averages and rates are presentation, not measures.
Idea: monoid values as in Twitter's Summingbird and Algebird.
"""

from __future__ import annotations

from dataclasses import dataclass

# Orders all events; structs compare field by field, left to right.
POSITION_TYPE = "struct<event_time:timestamp,_topic:string,_partition:int,_offset:bigint>"

# Inside a block of offsets one long orders the events: Spark would sort all rows to aggregate by anything wider.
_BITS = 20  # of the offset; the 43 above them hold every event time, in milliseconds
_MASK = 2**_BITS - 1
BLOCK = {"_topic": "_topic", "_partition": "_partition", "_block": f"shiftright(_offset, {_BITS})"}
ORDER = {"_nth": f"shiftleft(unix_millis(event_time), {_BITS}) | (_offset & {_MASK})"}


@dataclass(frozen=True)
class Column:
    """A stored column: its name and Spark SQL type."""

    name: str
    type: str


@dataclass(frozen=True)
class Measure:
    """What all measures share. ``of`` is a Spark SQL expression over an event."""

    name: str
    of: str = ""
    comment: str = ""

    @property
    def stored(self) -> tuple[Column, ...]:
        """Columns as declared in tables."""
        raise NotImplementedError

    @property
    def by_block(self) -> bool:
        """Whether ``aggregate`` holds inside one block only, so that ``combine`` must follow."""
        return False

    @property
    def aggregate(self) -> dict[str, str]:
        """Column -> Spark SQL aggregate over the rows of one topic."""
        raise NotImplementedError

    @property
    def finish(self) -> dict[str, str]:
        """Stored column -> Spark SQL over the columns that ``aggregate`` gave."""
        return {column.name: column.name for column in self.stored}

    @property
    def combine(self) -> dict[str, str]:
        """Stored column -> SQL aggregate over partial rows, for Spark and Trino alike."""
        raise NotImplementedError


@dataclass(frozen=True)
class Count(Measure):
    """Rows; with ``of``, rows for which that predicate is true."""

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
    def aggregate(self) -> dict[str, str]:
        # 28 digits leave ten for the sum, which Spark's decimal rule then keeps at 38.
        return {self.name: f"sum(cast({self.of} as decimal(28,{self.scale})))"}

    @property
    def combine(self) -> dict[str, str]:
        return {self.name: f"sum({self.name})"}


@dataclass(frozen=True)
class Min(Measure):
    """Smallest value, of declared Spark ``type``."""

    type: str = "bigint"

    @property
    def stored(self) -> tuple[Column, ...]:
        return (Column(self.name, self.type),)

    @property
    def aggregate(self) -> dict[str, str]:
        return {self.name: f"min({self.of})"}

    @property
    def combine(self) -> dict[str, str]:
        return {self.name: f"min({self.name})"}


@dataclass(frozen=True)
class Max(Measure):
    """Largest value, of declared Spark ``type``."""

    type: str = "bigint"

    @property
    def stored(self) -> tuple[Column, ...]:
        return (Column(self.name, self.type),)

    @property
    def aggregate(self) -> dict[str, str]:
        return {self.name: f"max({self.of})"}

    @property
    def combine(self) -> dict[str, str]:
        return {self.name: f"max({self.name})"}


@dataclass(frozen=True)
class Latest(Measure):
    """Value of the last event by (event time, topic, partition, offset); its position is stored beside it.

    Of the rows that one event exploded into it is the last element.
    """

    type: str = "string"

    @property
    def at(self) -> str:
        """The hidden column that holds the position of the event that won."""
        return f"_{self.name}_at"

    @property
    def stored(self) -> tuple[Column, ...]:
        return (Column(self.name, self.type), Column(self.at, POSITION_TYPE))

    @property
    def by_block(self) -> bool:
        return True

    @property
    def aggregate(self) -> dict[str, str]:
        which = self._which
        return {self.name: f"{which}_by({self.of}, _order)", f"_{self.name}_nth": f"{which}(_nth)"}

    @property
    def finish(self) -> dict[str, str]:
        nth = f"_{self.name}_nth"
        time = f"timestamp_millis(shiftright({nth}, {_BITS})) as event_time"
        offset = f"shiftleft(_block, {_BITS}) | ({nth} & {_MASK}) as _offset"
        return {self.name: self.name, self.at: f"struct({time}, _topic, _partition, {offset})"}

    @property
    def combine(self) -> dict[str, str]:
        which = self._which
        return {self.name: f"{which}_by({self.name}, {self.at})", self.at: f"{which}({self.at})"}

    @property
    def _which(self) -> str:
        return "max"


@dataclass(frozen=True)
class First(Latest):
    """Value of the first event by the same order."""

    @property
    def _which(self) -> str:
        return "min"
