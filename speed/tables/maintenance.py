"""Maintains the run's tables beside the epochs, so that queries stay fast and no file is kept for ever.

Tasks compact small files, cluster kept events by key, fold partial rows, write Delta checkpoints, vacuum files that
were replaced ``retention_minutes`` ago and shorten the logs of this machine. One thread runs them, each kind of task
for a table once at a time, however long it takes. A task that fails makes the run fail at its next epoch. A lock per
table keeps tasks and appends apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.identifiers import Name
from infra.control.runs import Run
from infra.lake import compaction
from infra.lake.leases import Lease
from infra.local.log_files import shorten_logs
from infra.settings import Settings
from speed.tables import clustering, schemas
from speed.tables.compactions import Compactions
from speed.tables.fold import Folding, fold, remove_left_folds
from speed.tables.fold_boundaries import FoldBoundaries

COMPACT_EPOCHS = 20  # readers open every small file, and parse every commit since the last Delta checkpoint
VACUUM_EPOCHS = 600
_SMALL_FILE = 1024 * 1024
_LARGE_FILE = 16 * _SMALL_FILE
_MERGES = 10  # of one task, which take seconds

Task = Callable[[], object]
Key = tuple[str, str]  # the kind of task, and the table or view


class Maintenance:
    """The tasks of one run; ``start_due`` is called with every committed epoch."""

    def __init__(self, spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, lease: Lease) -> None:
        self.spark = spark
        self.settings = settings
        self.run = run
        self.lease = lease
        self.paths = schemas.paths(settings, catalog, run)
        self._clustered = schemas.clustered_paths(settings, catalog, run)
        self._compacted = [path for path in self.paths if path not in self._clustered]
        remove_left_folds(settings, run.id, lease)
        self._compactions = Compactions(lease)
        self._folds = [Folding(settings, run.id, catalog.view(view), lease) for view in sorted(run.views)]
        self._boundaries = FoldBoundaries(settings, run.id)
        self._due: dict[
            Key, tuple[int, Task]
        ] = {}  # the epoch from which on the task is due, the longest waiting first
        self._due_lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "maintenance")
        self._running: Future[None] | None = None
        self._closed = threading.Event()

    def start_due(self, epoch: int) -> int:
        """Adds what is due after an epoch, and runs it beside the next ones. Raises what a task raised.

        Returns for how many epochs the task that waits longest has been due.
        """
        self._add_due(epoch)
        if self._running is not None and self._running.done():
            self._running.result()
            self._running = None
        if self._running is None and self._due:
            self._running = self._pool.submit(self._run_due)
        with self._due_lock:
            return max((epoch - due for due, _ in self._due.values()), default=0)

    def drain(self) -> None:
        """Runs all due tasks to their end."""
        if self._running is not None:
            self._running.result()
            self._running = None
        self._run_due()

    def close(self) -> None:
        """Waits for the running task, and drops the others."""
        self._closed.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _add_due(self, epoch: int) -> None:
        if not epoch:
            return
        if epoch % COMPACT_EPOCHS == 0:
            size = _LARGE_FILE if epoch // COMPACT_EPOCHS % 10 == 0 else _SMALL_FILE
            for path in self._compacted:
                self._add((f"compact {size}", path), epoch, partial(self._compactions.compact, path, size))
            for path in self._clustered:
                self._add(("cluster", path), epoch, partial(self._cluster, path, epoch))
        often = self.settings.fold_epochs
        if epoch % often == 0 and epoch >= self.settings.fold_behind + often:
            for folding in self._folds:
                self._add(("fold", folding.view.name), epoch, partial(self._fold, folding, epoch))
        if epoch % VACUUM_EPOCHS == 0:
            for path in self.paths:
                self._add(("vacuum", path), epoch, partial(compaction.vacuum, path))
            self._add(("shorten", "logs"), epoch, partial(shorten_logs, self.settings))

    def _add(self, key: Key, epoch: int, task: Task) -> None:
        """A task that waits already keeps its place and is not added again."""
        with self._due_lock:
            self._due.setdefault(key, (epoch, task))

    def _run_due(self) -> None:
        while not self._closed.is_set():
            with self._due_lock:
                key = next(iter(self._due), None)
                if key is None:
                    return
                _, task = self._due.pop(key)
            task()

    def _cluster(self, path: str, epoch: int) -> None:
        """Does some merges, and adds itself again while there may be more, behind the tasks that wait."""
        merged = 0
        while merged < _MERGES and not self._closed.is_set() and clustering.cluster(path, self.lease):
            merged += 1
        compaction.checkpoint(path)
        if merged == _MERGES:
            self._add(("cluster", path), epoch, partial(self._cluster, path, epoch))

    def _fold(self, folding: Folding, epoch: int) -> None:
        """Folds one range, and adds itself again while there may be more, behind the tasks that wait."""
        if fold(self.spark, folding, epoch, self._boundaries.ends(Name(folding.view.name))):
            # Many folds may follow each other while no epoch needs a compaction.
            if compaction.commits_since_checkpoint(folding.path, COMPACT_EPOCHS) == COMPACT_EPOCHS:
                compaction.checkpoint(folding.path)
            self._add(("fold", folding.view.name), epoch, partial(self._fold, folding, epoch))
