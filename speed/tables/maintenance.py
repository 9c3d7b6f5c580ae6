"""Maintains the run's tables beside the epochs, one small task at a time, so that queries stay fast.

Tasks compact small files, fold partial rows, write Delta checkpoints and vacuum files that are an hour old. A task that
fails makes the run fail at its next epoch. A lock per table keeps tasks and appends apart.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from pyspark.sql import SparkSession

from core.catalog import Catalog
from core.view import View
from infra.control.runs import Run
from infra.lake import delta
from infra.lake.leases import Lease
from infra.settings import Settings
from speed.tables import schemas
from speed.tables.fold import fold, fold_boundaries

COMPACT_EPOCHS = 20  # readers open every small file, and parse every commit since the last Delta checkpoint
VACUUM_EPOCHS = 600
_SMALL_FILE = 1024 * 1024
_LARGE_FILE = 16 * _SMALL_FILE

Task = Callable[[], object]


class Maintenance:
    """The tasks of one run. One thread runs them; ``start_due`` is called with every committed epoch."""

    def __init__(self, spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, lease: Lease) -> None:
        self.spark = spark
        self.settings = settings
        self.run = run
        self.lease = lease
        self.views = [catalog.view(view) for view in sorted(run.views)]
        self.paths = schemas.paths(settings, catalog, run)
        self._queue: deque[Task] = deque()
        self._pool = ThreadPoolExecutor(1, "maintenance")
        self._running: Future[object] | None = None
        self._closed = threading.Event()

    def start_due(self, epoch: int) -> None:
        """Queues what is due after an epoch, and starts the next task when none runs. Raises what a task raised."""
        self._enqueue(epoch)
        if self._running is not None:
            if not self._running.done():
                return
            self._running.result()
            self._running = None
        if self._queue and not self._closed.is_set():
            self._running = self._pool.submit(self._queue.popleft())

    def drain(self) -> None:
        """Runs all queued tasks to their end."""
        while self._queue or self._running is not None:
            if self._running is not None:
                self._running.result()
                self._running = None
            if self._queue:
                self._queue.popleft()()

    def close(self) -> None:
        """Waits for the running task, and drops the queued ones."""
        self._closed.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _enqueue(self, epoch: int) -> None:
        if not epoch:
            return
        if epoch % COMPACT_EPOCHS == 0:
            size = _LARGE_FILE if epoch // COMPACT_EPOCHS % 10 == 0 else _SMALL_FILE
            for path in self.paths:
                self._queue.append(partial(self._compact, path, size))
        often = self.settings.fold_epochs
        if epoch % often == 0 and epoch >= self.settings.fold_behind + often:
            for view in self.views:
                self._queue.append(partial(self._fold, view, epoch))
        if epoch % VACUUM_EPOCHS == 0:
            for path in self.paths:
                self._queue.append(partial(delta.vacuum, path))

    def _compact(self, path: str, size: int) -> None:
        delta.compact(path, size, lease=self.lease)
        delta.checkpoint(path)

    def _fold(self, view: View, epoch: int) -> None:
        """Folds one range, and queues itself again while there may be more."""
        ends = fold_boundaries(self.settings, self.run.id)
        if fold(self.spark, self.settings, self.run.id, view, epoch, ends, self.lease):
            self._queue.append(partial(self._fold, view, epoch))
