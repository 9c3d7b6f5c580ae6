"""A table is compacted when something was committed since its last compaction, whoever wrote a checkpoint meanwhile."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from core.identifiers import Name
from infra.lake import compaction, delta, idempotent_writes
from infra.lake.fence import Fence
from speed.tables.compactions import Compactions

SIZE = 1024 * 1024
LEASE = Fence(Name("run_r1"), 1)
SCHEMA = pa.schema([("epoch", pa.int64())])


def append(path: str, *epochs: int) -> None:
    for epoch in epochs:
        idempotent_writes.append_once(path, pa.table({"epoch": [epoch]}, SCHEMA), "test", epoch)


def test_a_checkpoint_of_others_puts_no_compaction_off(tmp_path: Path) -> None:
    path, compactions = str(tmp_path / "partials"), Compactions(LEASE)
    delta.create(path, SCHEMA)
    for first in (0, 20):
        append(path, *range(first, first + 20))
        compaction.checkpoint(path)  # as Spark and folds write them
        compactions.compact(path, SIZE)
        assert len(delta.table(path).file_uris()) == 1


def test_a_quiet_table_is_not_opened_again(tmp_path: Path) -> None:
    path, compactions = str(tmp_path / "partials"), Compactions(LEASE)
    delta.create(path, SCHEMA)
    append(path, 0, 1)
    compactions.compact(path, SIZE)
    version, log = delta.version(path), sorted(Path(path, "_delta_log").iterdir())
    compactions.compact(path, SIZE)
    assert (delta.version(path), sorted(Path(path, "_delta_log").iterdir())) == (version, log)
    append(path, 2)
    compactions.compact(path, SIZE)
    assert len(delta.table(path).file_uris()) == 1
    assert sorted(delta.read(path)["epoch"].to_pylist()) == [0, 1, 2]
