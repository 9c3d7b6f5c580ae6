"""A slow test is left out when its file would end after the deadline."""

from __future__ import annotations

import time

import pytest

from tests.support.suite import deadline

SOAK = "tests/scenarios/benches/test_soak.py"
SWITCH = "tests/scenarios/switch/test_flips.py"


@pytest.mark.parametrize(
    ("file", "loop", "minutes"), [(SOAK, 0.9, 21), (SWITCH, 0.9, 6), (SWITCH, 1.8, 12), (SWITCH, 0.5, 6)]
)
def test_a_file_takes_longer_on_a_slower_machine(file: str, loop: float, minutes: float) -> None:
    assert deadline.minutes(file, loop) == pytest.approx(minutes)


def test_what_would_end_late_does_not_begin_and_what_has_begun_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "loop_seconds", lambda: 0.9)
    monkeypatch.setattr(deadline, "_begins", {})
    now = time.time()
    assert not deadline.ends_by(now + 20 * 60, SOAK)
    assert deadline.ends_by(now + 20 * 60, SWITCH)
    assert deadline.ends_by(now, SWITCH)
