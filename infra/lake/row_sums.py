"""Sums of a column over a table, file by file: the sum of a data file is kept on this machine, as no file ever changes.

The rows of years are in hundreds of files, of which each commit replaces a few.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
from deltalake import DeltaTable
from pydantic import TypeAdapter

from core.compute import epoch_range
from core.errors import TryAgain
from infra.lake import damage, data_files, delta, delta_log, files
from infra.library_errors import first_line
from infra.private_files import write_private
from infra.settings import Settings

_FILE = "row-sums.json"
Kept = dict[str, dict[str, int]]  # path of a table -> name of a data file -> sum
_KEPT = TypeAdapter(Kept)


@dataclass(frozen=True)
class Epochs:
    """The rows whose epochs all come after ``after``, and none after ``until``."""

    after: int
    until: int


def read_kept(settings: Settings) -> Kept:
    """The sums that an earlier call kept; none if their file is missing or damaged."""
    with contextlib.suppress(OSError, ValueError):
        return _KEPT.validate_json(_path(settings).read_bytes())
    return {}


def keep(settings: Settings, sums: Kept) -> None:
    """Replaces the sums of the call before. A failure is left to the next call, which computes them again."""
    with contextlib.suppress(OSError):
        part = _path(settings).with_name(f"{_FILE}.{os.getpid()}.{threading.get_ident()}")
        write_private(part, json.dumps(sums))
        part.replace(_path(settings))


def sums_of_files(path: str, column: str, epochs: Epochs | None, kept: Mapping[str, int]) -> tuple[int, dict[str, int]]:
    """The sum of a column over all rows, or those of some epochs; and the sums of the files that count as a whole.

    ``kept`` are such sums of an earlier version. A file with rows of other epochs, too, is read each time.

    Raises Refused when a file is missing or cut short, also one whose sum was kept; TryAgain when the store fails.
    """
    opened = delta.table(path)
    damage.require_files(path, delta_log.live_files(opened))
    whole, partly = _files(opened, epochs)
    read = _Reader(opened, path, column)
    try:
        with damage.naming_damage(path):
            sums = {name: kept[name] if name in kept else read.total([name]) for name in whole}
            rest = read.total(partly, epochs) if partly else 0
    except (OSError, pa.ArrowException) as e:
        raise TryAgain(
            f"the table cannot be read: {first_line(str(e))}", where=path, fix="run the command again"
        ) from None
    return sum(sums.values()) + rest, sums


def _files(opened: DeltaTable, epochs: Epochs | None) -> tuple[list[str], list[str]]:
    """The names of the files whose rows all count, and of those of which some may."""
    if epochs is None:
        return pa.table(opened.get_add_actions())["path"].to_pylist(), []
    whole, partly = [], []
    ends = (data_files.live_files(opened, name) for name in ("first_epoch", "last_epoch"))
    for first, last in zip(*ends, strict=True):
        if first.low > epochs.after and last.high <= epochs.until:
            whole.append(first.path)
        elif first.high > epochs.after and last.low <= epochs.until:
            partly.append(first.path)
    return whole, partly


@dataclass(frozen=True)
class _Reader:
    opened: DeltaTable
    path: str
    column: str

    def total(self, names: Sequence[str], epochs: Epochs | None = None) -> int:
        """The sum over the rows of some files, a few rows at a time."""
        condition = epoch_range.is_within(pc.field, epochs.after, epochs.until) if epochs else None
        return sum(pc.sum(batch[self.column]).as_py() or 0 for batch in self._batches(names, condition))

    def _batches(self, names: Sequence[str], condition: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        file_system, root = files.filesystem(self.path)
        parquet, schema = pyarrow.dataset.ParquetFileFormat(), pa.schema(self.opened.schema().to_arrow())
        fragments = [parquet.make_fragment(f"{root}/{name}", file_system) for name in names]
        rows = pyarrow.dataset.FileSystemDataset(fragments, schema, parquet, file_system)
        yield from rows.to_batches(columns=[self.column], filter=condition, fragment_readahead=1)


def _path(settings: Settings) -> Path:
    return settings.run_dir / _FILE
