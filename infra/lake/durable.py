"""Waits until files are on the disk: delta-rs and Spark leave that to the OS, which takes up to half a minute.

After a power loss such a file may be empty. An object store needs no wait: a write that was answered is durable.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from infra.lake import checksums, delta_log, files


def sync_commit(path: str, version: int) -> None:
    """Waits until a commit is on the disk: its entry in the Delta log, and the data files that it added."""
    if not path.startswith("/"):
        return
    file_system, root = files.filesystem(path)
    added = delta_log.added(checksums.read_file(file_system, f"{root}/{delta_log.entry(version)}"))
    sync(Path(path, name) for name in [*added, delta_log.entry(version)])


def sync_checkpoint(path: str, version: int) -> None:
    """Waits until a checkpoint of the Delta log is on the disk, and the file that names it."""
    if path.startswith("/"):
        sync(Path(path, name) for name in (delta_log.checkpoint(version), delta_log.LAST))


def sync(paths: Iterable[Path]) -> None:
    """Waits until these files, and their names in their folders, are on the disk; skips those that are gone."""
    existing = [path for path in paths if path.exists()]
    for path in [*existing, *sorted({path.parent for path in existing})]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
