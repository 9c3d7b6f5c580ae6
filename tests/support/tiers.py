"""Three tiers: `make test` runs the fast tests, `make test-all` also slow ones, and `make long` those that are long.

All of tests/scenarios is slow. Elsewhere a slow test proves what another one proves less of (docs/promises.md). A long
test is slow, too: it takes minutes for its size, and no crash, scheduler or second machine is in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark.structures import ParameterSet

SCENARIOS = "tests/scenarios/"
LONG = tuple(f"{SCENARIOS}{scenario}/" for scenario in ("benches", "extremes", "trace", "tutorial"))


def marks(nodeid: str, own: Iterator[pytest.Mark]) -> Iterator[str]:
    """The marks that a test needs beside its own ones."""
    is_long = nodeid.startswith(LONG)
    if is_long:
        yield "long"
    if is_long or nodeid.startswith(SCENARIOS) or any(mark.name == "long" for mark in own):
        yield "slow"


def slow(*values: str | int) -> list[ParameterSet]:
    """Values of ``pytest.mark.parametrize`` whose tests are slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
