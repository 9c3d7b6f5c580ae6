"""Waits until files are on the disk: delta-rs and Spark leave that to the OS, which takes up to half a minute.

After a power loss such a file may be empty. An object store needs no wait: a write that was answered is durable.
"""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from infra.lake import checksums, delta_log, files


def sync_commit(path: str, version: int) -> None:
    """Waits until a commit is on the disk: its entry in the Delta log, and the data files that it added."""
    if not path.startswith("/"):
        return
    file_system, root = files.filesystem(path)
    added = delta_log.added(checksums.read_file(file_system, f"{root}/{delta_log.entry(version)}"))
    files.sync(Path(path, name) for name in [*added, delta_log.entry(version)])


def sync_checkpoint(path: str, version: int) -> None:
    """Waits until a checkpoint of the Delta log is on the disk, and the file that names it; passes if there is none."""
    if path.startswith("/") and Path(path, delta_log.checkpoint(version)).exists():
        files.sync(Path(path, name) for name in (delta_log.checkpoint(version), delta_log.LAST))


def sync_table(path: str, opened: DeltaTable) -> None:
    """Waits until all that a reader needs is on the disk: the rows, the last checkpoint and the log entries since.

    ``opened`` is up to date. What it has replaced may be deleted then.
    """
    if not path.startswith("/"):
        return
    file_system, root = files.filesystem(path)
    last = delta_log.last_checkpoint(file_system, root)
    sync_checkpoint(path, last)
    entries = map(delta_log.entry, range(last + 1, opened.version() + 1))
    files.sync(Path(path, name) for name in [*delta_log.live_files(opened), *entries])
