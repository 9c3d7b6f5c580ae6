"""Three tiers: `make test` runs the fast tests, `make test-all` also the full ones, and `make long` all others.

A full test is one of tests/scenarios: a crash of a process, a scheduler or a second machine is in it. What is marked
slow elsewhere adds cases that no promise names; and some scenarios take minutes for their size, or run once more, as
commands, what fast tests run in the tests' own process. These are long.
"""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

SCENARIOS = "tests/scenarios/"
_LONG = (
    *("benches/", "change_a_view/", "erasure/", "extremes/", "secured/", "trace/", "tutorial/", "wheel/"),
    *("live_page/test_made_faults.py", "live_page/test_viewers.py"),
    *("kills/test_checkers.py", "kills/test_poison_records.py"),
    *("restore/test_power_loss.py", "restore/test_two_versions.py", "switch/test_some_views.py"),
)
LONG = tuple(SCENARIOS + scenario for scenario in _LONG)


def tier(nodeid: str, *, is_slow: bool) -> tuple[str, ...]:
    """The marks of a test's tier; ``is_slow``: it is marked slow itself."""
    is_scenario = nodeid.startswith(SCENARIOS)
    if nodeid.startswith(LONG) or (is_slow and not is_scenario):
        return ("slow", "long")
    return ("slow",) if is_scenario else ()


def slow(*values: str | int) -> list[ParameterSet]:
    """Values of ``pytest.mark.parametrize`` whose tests are slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
