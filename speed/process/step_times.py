"""How long the steps of the last epochs took, and the CPU time of the run's processes meanwhile."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

STEPS = ("0 plan", "1 compute", "2 quarantine", "3 views", "4 manifest", "5 consumer group", "6 between epochs")
_KEPT = 100  # epochs

Clock = Callable[[], tuple[float, float]]


@dataclass(frozen=True)
class StepTime:
    """Means over the last epochs: seconds, and CPU seconds of Python and Java, with those of maintenance."""

    seconds: float
    cpu: float


_NONE = StepTime(0.0, 0.0)


@dataclass
class StepTimes:
    """The times of one run's epochs. ``clock`` gives the time and the CPU time, both in seconds."""

    clock: Clock
    _epochs: deque[dict[str, StepTime]] = field(default_factory=deque)
    _sums: dict[str, StepTime] = field(default_factory=dict)  # over _epochs
    _current: dict[str, StepTime] = field(default_factory=dict)
    _begun: tuple[str, float, float] | None = None

    def begin(self, step: str) -> None:
        """Ends the step before, and begins this one; the first step of STEPS begins the next epoch."""
        at, cpu = self.clock()
        if self._begun:
            name, began, used = self._begun
            self._current[name] = StepTime(at - began, cpu - used)
        if step == STEPS[0] and self._current:
            self._add(self._current)
            self._current = {}
        self._begun = (step, at, cpu)

    def means(self) -> dict[str, StepTime]:
        """The mean of each step over the last epochs; empty before the end of the first."""
        if not self._epochs:
            return {}
        count = len(self._epochs)
        sums = {step: self._sums.get(step, _NONE) for step in STEPS}
        return {step: StepTime(total.seconds / count, total.cpu / count) for step, total in sums.items()}

    def _add(self, epoch: dict[str, StepTime]) -> None:
        self._epochs.append(epoch)
        oldest = self._epochs.popleft() if len(self._epochs) > _KEPT else {}
        for step in epoch.keys() | oldest.keys():
            total, new, old = (times.get(step, _NONE) for times in (self._sums, epoch, oldest))
            self._sums[step] = StepTime(total.seconds + new.seconds - old.seconds, total.cpu + new.cpu - old.cpu)


def process_clock(java_pid: int | None) -> Clock:
    """A clock of this process and its Java process."""
    processes = [psutil.Process(), *([psutil.Process(java_pid)] if java_pid else [])]
    return lambda: (time.monotonic(), sum(_cpu(process) for process in processes))


def parsed(stored: Mapping[str, Any]) -> dict[str, StepTime]:
    """Means as they were written to the file of a run's state."""
    return {step: StepTime(**stored[step]) for step in STEPS if step in stored}


def _cpu(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:  # it has ended: the run fails by itself
        return 0.0
    return float(times.user + times.system)
