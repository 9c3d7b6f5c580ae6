"""CPU seconds of processes and their descendants while a block runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flows.measure.load import in_background
from infra.local.resource_usage import usage_of

_EVERY = 0.25


@contextmanager
def cpu_clock(*pids: int) -> Iterator[list[tuple[float, float]]]:
    """Fills a list with times (epoch seconds) and the CPU seconds of process trees, four times a second."""
    measured: list[tuple[float, float]] = []

    def work(stop: threading.Event) -> None:
        while not stop.is_set():
            measured.append((time.time(), sum(usage_of(pid).cpu for pid in pids)))
            stop.wait(_EVERY)

    with in_background(work):
        yield measured
