"""Compactions of a run's tables, left out where nothing was committed since the last one."""

from __future__ import annotations

from infra.lake import compaction
from infra.lake.fence import Fence


class Compactions:
    """Compacts tables; remembers the version that each had after that, by the size of files."""

    def __init__(self, lease: Fence) -> None:
        self.lease = lease
        self._versions: dict[tuple[str, int], int] = {}

    def compact(self, path: str, size: int) -> None:
        """Merges small files into files of ``size`` bytes and writes a checkpoint, unless the table is as it was."""
        last = self._versions.get((path, size))
        if last is None or compaction.has_commit_after(path, last):
            self._versions[path, size] = compaction.compact_and_checkpoint(path, size, self.lease)
