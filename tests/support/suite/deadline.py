"""Leaves out slow tests that would end after TEST_DEADLINE, seconds since 1970: .ci/run may not take for ever."""

from __future__ import annotations

import math
import os
import time

import pytest

from tests.support.suite.machine_speed import LOOP, loop_seconds

# Minutes that a file's slow tests take where a plain loop takes LOOP seconds, with other tests at its side.
_MINUTES = {
    "tests/scenarios/benches/test_soak.py": 21,
    "tests/scenarios/tutorial/": 15,
    "tests/scenarios/trace/": 10,
    "tests/scenarios/extremes/": 10,
    "tests/scenarios/airflow/": 10,
    "tests/scenarios/kills/test_batch_kills.py": 10,
}
_OTHERS = 6
_begins: dict[str, bool] = {}


def minutes(file: str, loop: float) -> float:
    """How long the slow tests of a file take on a machine that needs ``loop`` seconds for the loop."""
    longest = next((minutes for start, minutes in _MINUTES.items() if file.startswith(start)), _OTHERS)
    return longest * max(1.0, loop / LOOP)


def skip_if_late(item: pytest.Item) -> None:
    """Skips a slow test of a file that would end after the deadline."""
    deadline = float(os.environ.get("TEST_DEADLINE", math.inf))
    file = item.nodeid.partition("::")[0]
    if math.isfinite(deadline) and item.get_closest_marker("slow") and not ends_by(deadline, file):
        pytest.skip(f"{item.nodeid} was not run: .ci/run has no time left for it; `make slow long` runs it")


def ends_by(deadline: float, file: str) -> bool:
    """Whether a file that begins now ends by then. A file that has begun is finished, so the first answer stays."""
    if file not in _begins:
        _begins[file] = time.time() + 60 * minutes(file, loop_seconds()) <= deadline
    return _begins[file]
