"""How fast this machine is, so that a test waits longer on a slower one."""

from __future__ import annotations

import os
import time
from functools import cache

LOOP = 0.9  # seconds of the loop on the machine of docs/test-times.md
_STEPS, _PARTS = 20_000_000, 4
_BESIDE = 3  # as many tests run at once


@cache
def loop_seconds() -> float:
    """A measure that anyone can take again: a plain loop of 20 million steps, from a quarter of them."""
    began, total = time.process_time(), 0
    for number in range(_STEPS // _PARTS):
        total += number * number
    return _PARTS * (time.process_time() - began)


def patient(seconds: float) -> float:
    """How long to wait here for what takes less than ``seconds`` on a machine with nothing else to do."""
    return _BESIDE * seconds * max(1.0, loop_seconds() / LOOP)


def stretched(seconds: float) -> float:
    """The bound of a promise in seconds, for a machine as slow and as busy as this one is."""
    return seconds * max(1.0, loop_seconds() / LOOP) * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
