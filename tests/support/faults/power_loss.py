"""What a power loss may empty: files that no process of ours has waited for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

from core.identifiers import Name
from infra.lake import checksums, delta, delta_log, table_paths
from infra.settings import Settings


def data_file(path: str) -> Path:
    """One data file of a table."""
    return Path(path, next(iter(delta_log.live_files(delta.table(path)))))


def not_synced(settings: Settings, run: Name, build: str) -> list[Path]:
    """What the last epoch of a run, a build and the last locks wrote, but for the rows of control tables."""
    tables = [str(log.parent) for log in Path(table_paths.run(settings, run)).glob("*/_delta_log")]
    files = [Path(table, delta_log.entry(delta.version(table))) for table in tables]
    files += [data_file(table) for table in tables if delta_log.live_files(delta.table(table))]
    checkpoint = Path(table_paths.checkpoint(settings, run))
    last = max(int(file.name) for file in (checkpoint / "offsets").iterdir() if file.name.isdigit())
    files += [data_file(build), checkpoint / f"offsets/{last}", checkpoint / f"commits/{last}"]
    for table in table_paths.control_tables(settings):
        last_entry = delta_log.entry(delta.version(table))
        is_row = last_entry in checksums.read(table)[0] and not table.endswith("/leases")
        files += [] if is_row else [Path(table, last_entry)]
    return files


@contextlib.contextmanager
def files_on_disk() -> Iterator[Callable[[Path], bool]]:
    """Whether this process has waited in the block for a file as it is now; delta-rs and Arrow wait for none."""
    waited, fsync = set[tuple[str, int, int]](), os.fsync

    def recording(descriptor: int) -> None:
        fsync(descriptor)
        stat = os.fstat(descriptor)
        waited.add((str(Path(f"/proc/self/fd/{descriptor}").readlink()), stat.st_ino, stat.st_mtime_ns))

    with patch.object(os, "fsync", recording):
        yield lambda file: (str(file), file.stat().st_ino, file.stat().st_mtime_ns) in waited
