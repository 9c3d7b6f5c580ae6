"""How large a run's epochs are, and how fast it may start them: three things slow it down, and all wait here.

- A rate limit (`lk replay throttle`): a file beside the checkpoint, so it reaches a run on any machine.
- Priority: while a batch, or a replay that reads history without a limit, works on this machine, other runs wait
  ``yield_seconds`` between small epochs; a run that serves no view always does. An epoch costs about as much with one
  record as with a thousand. Priority is a file lock: the OS ends it with its process.
- A process that takes over from the run blocks its epochs (infra/local/epoch_lock.py) while it holds its lease.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.identifiers import Name
from infra.control.runs import Run
from infra.file_lock import locked
from infra.lake import files, leases, table_paths
from infra.local import epoch_lock
from infra.settings import Settings

SMALLEST_EPOCH = 10_000  # offsets; a smaller epoch would spend most of its time on planning
_SECONDS_PER_EPOCH = 4  # of reading at the rate limit
_EPOCH_BYTES = 2 * 2**30  # of its records, which Spark may have to keep on its disk
_WEIGHT = 0.25  # of the newest sizes of records in their mean
_LOCK_PATIENCE = 1.0  # seconds; only a probe is in the way
_PROBE_PATIENCE = 0.05  # seconds; another probe may be in the way
_locks: dict[Path, ExitStack] = {}  # of the priorities that this process has


class StopRequested(Exception):
    """The run is stopping; the epoch that would be next has written nothing."""


@dataclass
class EpochPacing:
    """The pace of one run in the process that drives it; ``serving`` is whether a view serves the run."""

    settings: Settings
    run: Run
    serving: bool = True
    rate_limit: int | None = None
    largest_epoch: int = 0  # offsets, of the query that runs
    record_bytes: float = 0.0  # a mean over the records that the run has looked at; 0 before the first one
    stopping: threading.Event = field(default_factory=threading.Event)

    def saw(self, sizes: Sequence[int]) -> None:
        """Notes the sizes of some records of the log, in bytes."""
        if sizes:
            mean = sum(sizes) / len(sizes)
            self.record_bytes += (mean - self.record_bytes) * (_WEIGHT if self.record_bytes else 1)

    def limit_changed(self) -> bool:
        """Whether epochs must be of another size: by `lk replay throttle`, or by records twice or half as large."""
        if read_rate_limit(self.settings, self.run.id) != self.rate_limit:
            return True
        largest = self._largest_epoch()
        return not self.largest_epoch / 2 < largest < self.largest_epoch * 2

    def offsets_per_epoch(self) -> int:
        """Reads the rate limit; returns the most offsets of an epoch, for a query that starts now."""
        self.rate_limit = read_rate_limit(self.settings, self.run.id)
        self.largest_epoch = self._largest_epoch()
        return self.largest_epoch

    def _largest_epoch(self) -> int:
        fitting = int(_EPOCH_BYTES / self.record_bytes) if self.record_bytes else _EPOCH_BYTES
        return max(1, min(offsets_per_epoch(self.settings, self.run.kind, self.rate_limit), fitting))

    @contextmanager
    def epoch(self, size: int) -> Iterator[None]:
        """The block that writes an epoch of ``size`` offsets; waits while another process blocks the run's epochs.

        Raises StopRequested when the run is asked to stop meanwhile.
        """
        if self._is_small(size) or self.rate_limit is not None:
            release_priority(self.settings, self.run.id)
        else:
            take_priority(self.settings, self.run.id)
        with self._unblocked():
            yield

    def wait(self, size: int, began: float) -> None:
        """Waits until the next epoch may start, or a stop of the run is requested.

        ``began`` is when the epoch of ``size`` offsets began (``time.monotonic``).
        """
        earliest = began
        if self.rate_limit is not None:
            earliest = began + size / self.rate_limit
        if size < self.settings.max_offsets_per_trigger and self._is_second():
            earliest = max(earliest, began + self.settings.yield_seconds)
        self.stopping.wait(max(0.0, earliest - time.monotonic()))

    @contextmanager
    def _unblocked(self) -> Iterator[None]:
        """The process that promotes another run may be paused: it blocks this run while it holds its lease."""
        while True:
            with epoch_lock.run_epoch(self.settings, self.run.id, self.settings.lease_seconds) as is_unblocked:
                if is_unblocked or leases.holder(self.settings, "control") is None:
                    yield
                    return
            if self.stopping.is_set():
                raise StopRequested

    def _is_small(self, size: int) -> bool:
        return size <= self.settings.max_offsets_per_trigger

    def _is_second(self) -> bool:
        return not self.serving or _others_have_priority(self.settings, self.run.id)


def read_rate_limit(settings: Settings, run: Name) -> int | None:
    """The most records a second that a run may read; None without a limit."""
    filesystem, path = files.filesystem(_rate_limit_file(settings, run))
    try:
        with filesystem.open_input_stream(path) as stream:
            rate = json.loads(stream.read())["records_per_second"]
    except (FileNotFoundError, ValueError):
        return None
    return int(rate) if rate else None


def set_rate_limit(settings: Settings, run: Name, records_per_second: int | None) -> None:
    """Replaces the limit; it holds from the run's next epoch on."""
    filesystem, path = files.filesystem(_rate_limit_file(settings, run))
    filesystem.create_dir(path.rpartition("/")[0], recursive=True)
    files.replace(_rate_limit_file(settings, run), json.dumps({"records_per_second": records_per_second}).encode())


def offsets_per_epoch(settings: Settings, kind: str, rate_limit: int | None) -> int:
    """The most offsets of one epoch: many for a replay, some seconds of reading under a limit."""
    largest = settings.replay_offsets_per_trigger if kind == "replay" else settings.max_offsets_per_trigger
    return largest if rate_limit is None else max(SMALLEST_EPOCH, min(largest, _SECONDS_PER_EPOCH * rate_limit))


def take_priority(settings: Settings, owner: Name) -> None:
    """Gives this process priority on this machine until it releases it or dies; no change if it has it."""
    path = _priority_folder(settings) / owner
    if path not in _locks:
        _locks[path] = ExitStack()
        _locks[path].enter_context(with_priority(settings, owner))


def release_priority(settings: Settings, owner: Name) -> None:
    """Ends the priority that this process took for ``owner``, if it has any."""
    _locks.pop(_priority_folder(settings) / owner, ExitStack()).close()


@contextmanager
def with_priority(settings: Settings, owner: Name) -> Iterator[None]:
    """The block has priority; other processes may have it under the same name."""
    with locked(_priority_folder(settings) / owner, _LOCK_PATIENCE, shared=True):
        yield


def _others_have_priority(settings: Settings, run: Name) -> bool:
    return any(path.name != run and _is_taken(path) for path in _priority_folder(settings).glob("*"))


def _is_taken(path: Path) -> bool:
    """Whether a living process has priority under this name."""
    with locked(path, _PROBE_PATIENCE) as is_free:
        return not is_free


def _rate_limit_file(settings: Settings, run: Name) -> str:
    return f"{table_paths.checkpoint(settings, run)}/throttle.json"


def _priority_folder(settings: Settings) -> Path:
    return settings.run_dir / "priority"
