"""Fold (compaction): combines the partial rows of a range of epochs into one row per key.

A folded row is tagged with the first and last epoch of its range. Ranges grow in levels, each twenty times as long as
the one before, so the rows of a key grow with the logarithm of the epochs. No row spans a boundary: the end of an epoch
whose build is served, or may be.
Every fold stores how far its level is folded, so a plan reads only what is newer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from core.compute import epoch_range
from core.compute.combine import merge_partials
from core.errors import NEW_RUN, RESUME_RUN, TryAgain
from core.identifiers import Name
from core.view import ROWS, Rollup, View
from infra import faults
from infra.control import runs
from infra.lake import damage, data_files, delta, files, idempotent_writes, parquet_scan, table_paths
from infra.lake.leases import Lease
from infra.retry import retry_on
from infra.settings import Settings
from infra.spark.frames import frame_of
from speed.tables import schemas
from speed.tables.fold_ranges import EpochRange, due_ranges, multiples

COLLECTED_BYTES = 32 * 1024 * 1024  # the most that one fold brings into this process; Spark writes a larger one
_PATIENCE = 10.0  # seconds in which a fold whose counts differ is computed again; nothing is replaced meanwhile
_TAGS = ("first_epoch", "last_epoch")


@dataclass
class Folding:
    """The folds of one view of a run.

    ``folded`` is multiple -> the last epoch up to which it is folded. A fold combines so many times ``fold_epochs``.
    """

    settings: Settings
    run: Name
    view: View
    lease: Lease
    folded: dict[int, int] = field(default_factory=dict)

    def last_folded(self, multiple: int) -> int:
        """The last epoch up to which folds of a multiple have come; -1 for none."""
        if multiple not in self.folded:
            last = delta.table(self.path).transaction_version(self.app(multiple))
            self.folded[multiple] = -1 if last is None else last
        return self.folded[multiple]

    @property
    def path(self) -> str:
        """The table of the view's partial rows."""
        return table_paths.speed(self.settings, self.run, Name(self.view.name))

    def app(self, multiple: int) -> str:
        """The app id of the commits of one multiple; their version is the last epoch that is folded."""
        return fold_app(self.run, self.view.name, multiple)


def fold_app(run: Name, view: str, multiple: int) -> str:
    """The app id of the commits of one multiple of a view's folds; their version is the last epoch that is folded."""
    return runs.txn_app(run, f"{view}/fold/{multiple}")


def fold(spark: SparkSession, folding: Folding, last_epoch: int, boundaries: Iterable[int]) -> bool:
    """Folds the oldest range that is due; False when there is none."""
    settings, ends = folding.settings, list(boundaries)
    for multiple in multiples(last_epoch, settings.fold_epochs):
        size, folded = multiple * settings.fold_epochs, folding.last_folded(multiple)
        due = list(due_ranges(last_epoch, settings.fold_behind, ends, size, folded))
        tags = _tags(delta.table(folding.path), EpochRange(due[0].first, due[-1].last)) if due else []
        for epochs in due:
            if _covered(epochs, tags) > 1:
                attempts = partial(_fold, spark, folding, multiple, epochs)
                retry_on(FoldDiffers, attempts, _PATIENCE, every=1.0)
                return True
            folding.folded[multiple] = epochs.last
    return False


def _tags(opened: DeltaTable, within: EpochRange) -> list[EpochRange]:
    """The ranges that rows of the table have, each once; the rows are read batch by batch."""
    tags: set[tuple[int, int]] = set()
    for batch in delta.batches_of(opened, _TAGS, _inside(within)):
        pairs = pa.Table.from_batches([batch]).group_by(list(_TAGS)).aggregate([])
        tags |= set(zip(*(pairs[name].to_pylist() for name in _TAGS), strict=True))
    return [EpochRange(*pair) for pair in sorted(tags)]


def _covered(epochs: EpochRange, tags: list[EpochRange]) -> int:
    """How many of the sorted tags are in the range; none is partly in it."""
    first = bisect_left(tags, EpochRange(epochs.first, epochs.first))
    return bisect_left(tags, EpochRange(epochs.last + 1, -1)) - first


def _fold(spark: SparkSession, folding: Folding, multiple: int, epochs: EpochRange) -> None:
    view, opened = folding.view, delta.table(folding.path)
    damage.require_content(folding.path, _files_with(opened, epochs))
    rows = _few_rows(opened, schemas.partial_schema(view), epochs)
    if rows is not None:
        merged = merge_partials(view, frame_of(spark, rows)).toArrow()
        _require_same_counts(folding, epochs, _counted(view, [rows]), _counted(view, [merged]))
        _replace(folding, multiple, epochs, _tagged(merged, view, epochs), opened)
    else:
        merge = merge_partials(view, parquet_scan.read_table(spark, folding.path).where(_predicate(epochs)))
        _replace_from_spark(folding, multiple, epochs, merge)
    folding.folded[multiple] = epochs.last


def _files_with(opened: DeltaTable, epochs: EpochRange) -> Iterator[str]:
    """The files that may have rows of some epochs, by their statistics."""
    for file in data_files.live_files(opened, "first_epoch"):
        if file.low <= epochs.last and file.high >= epochs.first:
            yield file.path


def _few_rows(opened: DeltaTable, schema: pa.Schema, epochs: EpochRange) -> pa.Table | None:
    """The rows to combine; None when they are too large for this process, and then not all of them are read."""
    batches: list[pa.RecordBatch] = []
    for batch in delta.batches_of(opened, schema.names, _inside(epochs)):
        batches.append(batch)
        if sum(read.nbytes for read in batches) > COLLECTED_BYTES:
            return None
    return pa.Table.from_batches(batches).cast(schema)


def _replace_from_spark(folding: Folding, multiple: int, epochs: EpochRange, merged: DataFrame) -> None:
    """Spark writes the merged rows beside the tables; they are then copied batch by batch.

    Each holder of the run's lease writes to a folder of its own: one that lost it may still write to the one before.
    """
    part = f"{table_paths.folding(folding.settings, folding.run)}/{folding.lease.generation}"
    try:
        merged.write.mode("overwrite").parquet(part)
        read = delta.batches(folding.path, [ROWS], _inside(epochs))
        written = _counted(folding.view, files.parquet_batches(part))
        _require_same_counts(folding, epochs, _counted(folding.view, read), written)
        schema = schemas.partial_schema(folding.view)
        rows = (
            batch
            for table in files.parquet_batches(part)
            for batch in _tagged(table, folding.view, epochs).to_batches()
        )
        _replace(folding, multiple, epochs, pa.RecordBatchReader.from_batches(schema, rows), delta.table(folding.path))
    finally:
        files.remove(part)


class FoldDiffers(TryAgain):
    """The merged rows do not count what was read."""


def _counted(view: View, tables: Iterable[pa.Table | pa.RecordBatch]) -> int:
    """The events that partial rows count; of a keyed view, whose older rows a fold drops, whether there are rows."""
    if isinstance(view, Rollup):
        return sum(pc.sum(table[ROWS]).as_py() or 0 for table in tables)
    return int(any(table.num_rows for table in tables))


def _require_same_counts(folding: Folding, epochs: EpochRange, read: int, merged: int) -> None:
    """Raises FoldDiffers unless the merged rows count as many events as those that they replace."""
    if merged != read:
        raise FoldDiffers(
            f"a fold of view {folding.view.name} counts {merged} rows of events, {read} were read",
            where=f"{folding.path}, epochs {epochs.first} to {epochs.last}; nothing was replaced",
            fix=f"run {RESUME_RUN}; if it happens again, {NEW_RUN}",
        )


def remove_left_folds(settings: Settings, run: Name, lease: Lease) -> None:
    """Deletes what earlier holders of the lease left when they were killed in a large fold."""
    parent = table_paths.folding(settings, run)
    for generation in files.folders(parent):
        if not generation.isdigit() or int(generation) < lease.generation:
            files.remove(f"{parent}/{generation}")


def _replace(
    folding: Folding, multiple: int, epochs: EpochRange, rows: pa.Table | pa.RecordBatchReader, opened: DeltaTable
) -> None:
    faults.at("speed.6_in_fold")
    app, predicate = folding.app(multiple), _predicate(epochs)
    idempotent_writes.overwrite_once(
        folding.path, rows, predicate, app, epochs.last, lease=folding.lease, opened=opened
    )


def _tagged(rows: pa.Table, view: View, epochs: EpochRange) -> pa.Table:
    return schemas.tagged(rows, schemas.partial_schema(view), first_epoch=epochs.first, last_epoch=epochs.last)


def _predicate(epochs: EpochRange) -> str:
    return epoch_range.within(epochs.first - 1, epochs.last)


def _inside(epochs: EpochRange) -> pc.Expression:
    return (pc.field("first_epoch") >= epochs.first) & (pc.field("last_epoch") <= epochs.last)
