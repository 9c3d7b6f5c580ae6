"""Keeps a Delta table small and quick to open: merges small files, writes checkpoints, deletes what no row needs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, WriterProperties
from pyarrow import fs

from infra.lake import checksums, damage, delta, delta_log, files, idempotent_writes
from infra.lake.fence import Fence

_TARGET = 100 * 1024 * 1024  # bytes of a file, unless a caller names another size


def small_files(opened: DeltaTable, below: int) -> int:
    """The number of data files smaller than ``below`` bytes."""
    sizes = pa.table(opened.get_add_actions()).column("size_bytes").to_pylist()
    return sum(size < below for size in sizes)


def checkpoint(path: str) -> int:
    """Writes a checkpoint of the Delta log, so that opening the table stays fast; merges the files of checksums.

    Returns the version of the table.
    """
    with delta.mutex(path):
        opened = delta.table(path)
        _checkpoint(path, opened)
    return int(opened.version())


def commits_since_checkpoint(path: str, most: int) -> int:
    """How many commits readers replay to open a table, from its log's names alone; counts up to ``most``."""
    file_system, root = files.filesystem(path)
    last = delta_log.last_checkpoint(file_system, root)
    names = [f"{root}/{delta_log.entry(last + number)}" for number in range(1, most + 1)]
    infos = file_system.get_file_info(names)
    return sum(info.type == fs.FileType.File for info in infos)


def compact(
    path: str, size: int = _TARGET, *, lease: Fence | None = None, writer: WriterProperties = delta.WRITER
) -> int:
    """Runs OPTIMIZE on files below ``size`` bytes; returns the number of files removed.

    Raises Refused when one of them is damaged.
    """
    with delta.mutex(path), idempotent_writes.conflicts(path):
        return _compact(path, delta.table(path), size, lease, writer)


def compact_and_checkpoint(path: str, size: int = _TARGET, lease: Fence | None = None) -> int:
    """Runs OPTIMIZE and writes a checkpoint, with the table opened once; returns its version, raises as ``compact``."""
    with delta.mutex(path), idempotent_writes.conflicts(path):
        opened = delta.table(path)
        _compact(path, opened, size, lease, delta.WRITER)
        _checkpoint(path, opened)
    return int(opened.version())


def has_commit_after(path: str, version: int) -> bool:
    """Whether a table has a commit after the one of this version, from its log's names alone."""
    file_system, root = files.filesystem(path)
    info = file_system.get_file_info(f"{root}/{delta_log.entry(version + 1)}")
    return bool(info.type == fs.FileType.File)


def _checkpoint(path: str, opened: DeltaTable) -> None:
    opened.create_checkpoint()
    checksums.merge(path, opened, [delta_log.checkpoint(opened.version())])


def _compact(path: str, opened: DeltaTable, size: int, lease: Fence | None, writer: WriterProperties) -> int:
    before = opened.version()
    damage.require_content(path, _merged(delta_log.live_files(opened), size))
    commit = CommitProperties(app_transactions=idempotent_writes.fence_txns(lease, opened))
    metrics = opened.optimize.compact(
        target_size=size,
        commit_properties=commit,
        post_commithook_properties=delta.HOOKS,
        writer_properties=writer,
    )
    if opened.version() > before:
        checksums.record(path, opened.version())
    return int(metrics["numFilesRemoved"])


def _merged(sizes: Mapping[str, int], most: int) -> set[str]:
    """The files that OPTIMIZE may merge into one of ``most`` bytes; ``sizes`` are bytes, in the order of the snapshot.

    delta-rs merges neighbours. A file that fits with neither of its own stays: a full one is not read again each time.
    """
    return {name for pair in pairwise(sizes) if sum(sizes[file] for file in pair) <= most for name in pair}


def vacuum(path: str) -> int:
    """Deletes data files and log entries older than the table's retention; returns the number of data files.

    A full vacuum lists the folder: the other kind knows only the files whose removal the last checkpoint still names.
    """
    with delta.mutex(path):
        opened = delta.table(path)
        before = opened.version()
        deleted = opened.vacuum(
            dry_run=False, enforce_retention_duration=False, post_commithook_properties=delta.HOOKS, full=True
        )
        delta.table(path).cleanup_metadata()
        now = delta.table(path)
        checksums.merge(path, now, map(delta_log.entry, range(before + 1, now.version() + 1)))
    return len(deleted)
