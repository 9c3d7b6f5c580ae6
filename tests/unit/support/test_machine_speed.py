"""Tests wait longer on a slower machine."""

from __future__ import annotations

import os

import pytest

from tests.support.suite import machine_speed


@pytest.mark.parametrize(("loop", "limit"), [(0.5, 30), (0.9, 30), (1.8, 60)])
def test_a_slow_machine_gets_more_time(loop: float, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_speed, "loop_seconds", lambda: loop)
    assert machine_speed.patient(10) == pytest.approx(limit)


@pytest.mark.parametrize(("loop", "load", "bound"), [(0.5, 0.3, 10), (1.8, 2.0, 20), (0.9, 6.0, 30)])
def test_a_slow_or_busy_machine_stretches_a_bound(
    loop: float, load: float, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_speed, "loop_seconds", lambda: loop)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert machine_speed.stretched(10) == pytest.approx(bound)


def test_each_test_ends_after_its_longer_limit(request: pytest.FixtureRequest) -> None:
    """The first mark is the one that counts; pyproject.toml says 600 seconds."""
    limit = request.node.get_closest_marker("timeout").args[0]
    assert limit == machine_speed.patient(600) >= 1800
