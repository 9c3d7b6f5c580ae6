"""Fold (compaction): combines the partial rows of a range of epochs into one row per key.

A folded row is tagged with the first and last epoch of its range. Ranges grow in levels, so that the number of rows
stays bounded and each fold is short. No row spans a boundary: the end of an epoch whose cut is claimed or served.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from core.compute.combine import merge_partials
from core.identifiers import Name
from core.view import View
from infra import faults
from infra.control import runs
from infra.control.claims import read_claims
from infra.control.publications import read_publications
from infra.lake import delta, table_paths
from infra.lake.leases import Lease
from infra.settings import Settings
from speed.tables import schemas

LEVELS = (1, 20, 400)  # times ``fold_epochs``: the epochs that one row covers, each a multiple of the one before


@dataclass(frozen=True)
class EpochRange:
    """Epochs ``first`` to ``last``, both included."""

    first: int
    last: int


def fold_boundaries(settings: Settings, run: Name) -> list[int]:
    """Epochs of a run that are claimed or pinned: no folded row may span the end of one."""
    claimed = {claim.epoch for claim in read_claims(settings) if claim.run == run}
    pinned = {
        pin.epoch for publication in read_publications(settings) for pin in publication.pins.values() if pin.run == run
    }
    return sorted(claimed | pinned)


def due_ranges(newest: int, behind: int, boundaries: Iterable[int], size: int) -> list[EpochRange]:
    """The ranges of a level that may be folded when ``newest`` is the last epoch, oldest first.

    A block of ``size`` epochs is divided at boundaries.
    """
    blocks = max(0, (newest - behind + 1) // size)
    ends = sorted(set(boundaries))
    return [epochs for block in range(blocks) for epochs in _split(block * size, (block + 1) * size - 1, ends)]


def fold(
    spark: SparkSession, settings: Settings, run: Name, view: View, newest: int, boundaries: Iterable[int], lease: Lease
) -> int:
    """Folds the oldest range that is due in a view's table; returns by how many rows it shrank, 0 without one."""
    path = table_paths.speed(settings, run, Name(view.name))
    columns = delta.read(path, columns=["first_epoch", "last_epoch"])
    ranges = set(zip(columns["first_epoch"].to_pylist(), columns["last_epoch"].to_pylist(), strict=True))
    ends = list(boundaries)
    for level in LEVELS:
        for epochs in due_ranges(newest, settings.fold_behind, ends, level * settings.fold_epochs):
            inside = [row_range for row_range in ranges if epochs.first <= row_range[0] and row_range[1] <= epochs.last]
            if len(inside) > 1:
                return _fold(spark, path, view, run, epochs, lease)
    return 0


def _fold(spark: SparkSession, path: str, view: View, run: Name, epochs: EpochRange, lease: Lease) -> int:
    inside = (pc.field("first_epoch") >= epochs.first) & (pc.field("last_epoch") <= epochs.last)
    rows = delta.read(path, filters=inside)
    merged = merge_partials(view, spark.createDataFrame(rows).coalesce(1)).toArrow()
    folded = schemas.tagged(merged, schemas.partial_schema(view), first_epoch=epochs.first, last_epoch=epochs.last)
    faults.at("speed.6_in_fold")
    app = runs.txn_app(run, f"{view.name}/fold")
    version = (delta.txn_version(path, app) or 0) + 1
    predicate = f"first_epoch >= {epochs.first} AND last_epoch <= {epochs.last}"
    delta.overwrite_once(path, folded, predicate, app, version, lease=lease)
    return int(rows.num_rows - folded.num_rows)


def _split(first: int, last: int, ends: list[int]) -> Iterator[EpochRange]:
    for end in [end for end in ends if first <= end < last]:
        yield EpochRange(first, end)
        first = end + 1
    yield EpochRange(first, last)
