"""Table control.comparisons: how a run compares with a build, view by view; the evidence for a switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from core.cut import Cut
from core.identifiers import Name
from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.lake.leases import Lease
from infra.settings import Settings

TABLE = ControlTable(
    "comparisons",
    pa.schema(
        {"run": TEXT, "build": TEXT, "epoch": pa.int64(), "cut": TEXT, "head": TEXT, "view": TEXT, "digest": TEXT}
        | {name: pa.int64() for name in ("keys", "only_build", "only_run", "repeated", "cells")}
        | {"first": TEXT, "trino": pa.bool_(), "at": TIME, "seconds": pa.float64()}
    ),
)


@dataclass(frozen=True)
class Comparison:
    """One view: the merged partial rows of a run up to an epoch, against the build at the end of that epoch.

    ``keys`` counts the keys on both sides, ``repeated`` the keys that a side has more than once, ``cells`` the stored
    columns that differ, over all keys. ``first`` is JSON for people: the first keys that differ, with both rows.
    ``trino`` says whether Trino computes the same count and hash of both sides. ``head`` is the cut up to which the run
    read the archive instead of Kafka.
    """

    run: Name
    build: Name
    epoch: int
    cut: Cut
    head: Cut
    view: Name
    digest: Name
    keys: int
    only_build: int
    only_run: int
    repeated: int
    cells: int
    first: str
    trino: bool
    at: datetime
    seconds: float

    @property
    def differences(self) -> int:
        """The number of keys on one side only, of repeated keys and of cells that differ."""
        return self.only_build + self.only_run + self.repeated + self.cells

    @property
    def equal(self) -> bool:
        """Whether run and build are equal, in Spark and in Trino."""
        return not self.differences and self.trino


def add_comparison(settings: Settings, lease: Lease, comparison: Comparison) -> None:
    """Writes the comparison of a view, under the lease "batch"."""
    TABLE.append(settings, lease, as_row(comparison))


def latest_by_view(settings: Settings, run: Name) -> Mapping[Name, Comparison]:
    """The newest comparison of each view of a run."""
    rows = [row for row in TABLE.read(settings) if row["run"] == run]
    by_time = map(_comparison, sorted(rows, key=lambda row: row["at"]))
    return {comparison.view: comparison for comparison in by_time}


def _comparison(row: Mapping[str, object]) -> Comparison:
    names = {name: Name(str(row[name])) for name in ("run", "build", "view", "digest")}
    cuts = {name: Cut.parse(str(row[name])) for name in ("cut", "head")}
    return Comparison(**{**row, **names, **cuts})  # type: ignore[arg-type]
