"""Tests wait longer on a slower machine."""

from __future__ import annotations

import pytest

from tests.support.suite import machine_speed


@pytest.mark.parametrize(("loop", "limit"), [(0.5, 20), (0.9, 20), (1.8, 40)])
def test_a_slow_machine_gets_more_time(loop: float, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_speed, "loop_seconds", lambda: loop)
    assert machine_speed.patient(10) == pytest.approx(limit)


def test_each_test_ends_after_its_longer_limit(request: pytest.FixtureRequest) -> None:
    """The first mark is the one that counts; pyproject.toml says 600 seconds."""
    limit = request.node.get_closest_marker("timeout").args[0]
    assert limit == machine_speed.patient(600) >= 1200
