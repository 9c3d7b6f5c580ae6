"""Table control.comparisons: how a run compares with a build, view by view; the evidence for a switch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.compute.row_pairs import Row, differing_columns
from core.cut import Cut
from core.identifiers import Name
from infra.control.store import TEXT, TIME, ControlTable, as_row, later_than_stored
from infra.lake.leases import Lease
from infra.settings import Settings

_DIFFERENCES = ("only_build", "only_run", "repeated", "cells")
# "head" is the stored name of the prefix, from the first lakes
TABLE = ControlTable(
    "comparisons",
    pa.schema(
        {"run": TEXT, "build": TEXT, "epoch": pa.int64(), "cut": TEXT, "head": TEXT, "view": TEXT, "digest": TEXT}
        | {name: pa.int64() for name in ("keys", *_DIFFERENCES)}
        | {"first": TEXT, "trino": pa.bool_(), "at": TIME, "seconds": pa.float64()}
    ),
)


def count_of_differences(counts: Mapping[str, int]) -> int:
    """The number of keys on one side only, of repeated keys and of cells that differ."""
    return sum(counts[name] for name in _DIFFERENCES)


@dataclass(frozen=True)
class RowDifference:
    """A key whose rows differ: how many rows each side has, and the other columns of one of them, None without a row.

    Values are those of JSON; decimals and times are text.
    """

    key: Row
    n_build: int
    n_run: int
    build: Row | None
    run: Row | None

    @property
    def differing(self) -> tuple[str, ...]:
        """The columns whose cells differ; none where a side has no row."""
        return differing_columns(self.build, self.run)

    def __str__(self) -> str:
        key = ", ".join(f"{name} {value}" for name, value in self.key.items())
        if self.build is None or self.run is None:
            return f"{key}: only in the {'run' if self.build is None else 'build'}"
        if max(self.n_build, self.n_run) > 1:
            return f"{key}: rows in build and run are {self.n_build} and {self.n_run}"
        cells = [f"{name} is {self.build.get(name)} and {self.run.get(name)}" for name in self.differing]
        return f"{key}: {', '.join(cells)} in build and run"


@dataclass(frozen=True)
class Comparison:
    """One view: the merged partial rows of a run up to an epoch, against the build at the end of that epoch.

    ``keys`` counts the keys on both sides, ``repeated`` the keys that a side has more than once, ``cells`` the stored
    columns that differ, over all keys. ``first`` are the first keys that differ, with both rows, stored as JSON.
    ``trino`` says whether Trino computes the same count and hash of both sides. ``prefix`` is the cut up to which the
    run read the archive instead of Kafka.
    """

    run: Name
    build: Name
    epoch: int
    cut: Cut
    prefix: Cut
    view: Name
    digest: Name
    keys: int
    only_build: int
    only_run: int
    repeated: int
    cells: int
    first: tuple[RowDifference, ...]
    trino: bool
    at: datetime
    seconds: float

    @property
    def differences(self) -> int:
        """The number of keys on one side only, of repeated keys and of cells that differ."""
        return count_of_differences(vars(self))

    @property
    def equal(self) -> bool:
        """Whether run and build are equal, in Spark and in Trino."""
        return not self.differences and self.trino


def add_comparison(settings: Settings, lease: Lease, comparison: Comparison) -> None:
    """Writes the comparison of a view, under the lease "batch"."""
    first = json.dumps([asdict(row) for row in comparison.first])
    stored = TABLE.read(settings, ("at",), pc.field("run") == comparison.run)
    at = later_than_stored(comparison.at, (row["at"] for row in stored))
    TABLE.append(settings, lease, as_row(replace(comparison, at=at), first=first, head=str(comparison.prefix)))


def latest_by_view(settings: Settings, run: Name) -> Mapping[Name, Comparison]:
    """The newest comparison of each view of a run."""
    rows = TABLE.read(settings, where=pc.field("run") == run)
    by_time = map(_comparison, sorted(rows, key=lambda row: row["at"]))
    return {comparison.view: comparison for comparison in by_time}


def _comparison(row: Mapping[str, Any]) -> Comparison:
    names = {name: Name(str(row[name])) for name in ("run", "build", "view", "digest")}
    values = {column: value for column, value in row.items() if column != "head"}
    cuts = {"cut": Cut.parse(row["cut"]), "prefix": Cut.parse(row["head"])}
    first = tuple(RowDifference(**{"build": None, "run": None} | item) for item in json.loads(row["first"]))
    return Comparison(**{**values, **names, **cuts, "first": first})
