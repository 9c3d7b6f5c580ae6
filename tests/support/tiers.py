"""Two tiers: `make test` runs the fast tests, `make test-all` also those that are marked slow.

All of tests/scenarios is slow. Elsewhere a slow test proves what another one proves less of (docs/promises.md).
"""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet


def slow(*values: str | int) -> list[ParameterSet]:
    """Values of ``pytest.mark.parametrize`` whose tests are slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
