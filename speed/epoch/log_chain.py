"""Ties each epoch to the one before it: the log still has the records that were read, and marks of the new ones."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from core.errors import SERVED_STAYS, TryAgain
from core.log_mark import LogMark
from core.positions import LogPartition
from infra.control.manifest import last_epoch
from infra.control.runs import Run
from infra.kafka.log_marks import RecordReader, marks_before, require_same_log
from infra.retry import retry_on
from infra.settings import Settings
from speed.epoch.offset_log import PlannedEpoch
from speed.process.epoch_pacing import EpochPacing, StopRequested

Marks = Mapping[LogPartition, LogMark]
_DEADLINE = 60.0  # seconds for a broker that restarts


class LogChain:
    """The marks of a run, read by a thread of its own while Spark computes the epoch."""

    def __init__(self, settings: Settings, run: Run, fix: str, pacing: EpochPacing) -> None:
        self._settings = settings
        self._run = run
        self._fix = fix
        self._pacing = pacing
        self._marks: Marks | None = None  # of the last committed epoch; read with the first one of this process
        self._reader: RecordReader | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="log-marks")

    def sample(self, offsets: Mapping[LogPartition, int]) -> None:
        """Tells the pacing how large the records at these offsets are; nothing where Kafka has none or is away."""
        with contextlib.suppress(TryAgain):
            self._pool.submit(self._sample, offsets).result()

    def _sample(self, offsets: Mapping[LogPartition, int]) -> None:
        self._reader = self._reader or RecordReader(self._settings)
        self._reader.records(offsets)
        self._pacing.saw(self._reader.sizes)

    def read(self, planned: PlannedEpoch) -> Future[Marks]:
        """The marks up to the end of an epoch.

        The result raises Refused when the log has another record before the epoch than the run read. When Kafka does
        not answer for a minute it raises TryAgain, or StopRequested as soon as the run stops: an epoch without new
        marks would hide that its records were replaced.
        """
        return self._pool.submit(self._read, planned)

    def committed(self, marks: Marks) -> None:
        """The epoch with these marks is committed."""
        self._marks = marks

    def close(self) -> None:
        """Closes the connection."""
        self._pool.shutdown()
        if self._reader:
            self._reader.close()

    def _read(self, planned: PlannedEpoch) -> Marks:
        if self._marks is None:
            last = last_epoch(self._settings, self._run.id)
            self._marks = last.marks if last else {}
        return retry_on(TryAgain, lambda: self._attempt(planned), _DEADLINE, every=0.5)

    def _attempt(self, planned: PlannedEpoch) -> Marks:
        try:
            return self._new_marks(planned)
        except TryAgain:
            if self._pacing.stopping.is_set():
                raise StopRequested from None
            raise

    def _new_marks(self, planned: PlannedEpoch) -> Marks:
        assert self._marks is not None
        self._reader = self._reader or RecordReader(self._settings)
        read = {(str(span.topic), span.partition) for span in planned.spans}
        where = f"run {self._run.id}, before epoch {planned.number}; {SERVED_STAYS}"
        before = {partition: mark for partition, mark in self._marks.items() if partition in read}
        require_same_log(self._reader, before, where=where, fix=self._fix)
        ends = [(span.topic, span.partition, span.end) for span in planned.spans]
        marks = marks_before(self._reader, ends)
        self._pacing.saw(self._reader.sizes)
        return {**self._marks, **marks}
