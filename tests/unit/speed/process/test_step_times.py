"""The means of an epoch's steps."""

from __future__ import annotations

import pytest

from speed.process.step_times import STEPS, StepTime, StepTimes, parsed


def test_each_step_has_the_mean_of_its_times_and_the_open_epoch_does_not_count() -> None:
    moments = iter([(10.0, 1.0), (11.0, 1.5), (14.0, 2.0), (15.0, 3.0), (17.0, 3.5), (19.0, 3.5)])
    times = StepTimes(lambda: next(moments))
    assert times.means() == {}
    for step in ("0 plan", "1 compute", "6 between epochs", "0 plan", "1 compute", "0 plan"):
        times.begin(step)
    means = times.means()
    assert list(means) == list(STEPS)
    assert means["0 plan"] == StepTime(1.5, 0.5)
    assert means["1 compute"] == StepTime(2.5, 0.25)
    assert means["6 between epochs"] == StepTime(0.5, 0.5)
    assert means["4 manifest"] == StepTime(0.0, 0.0)


def test_only_the_last_hundred_epochs_count() -> None:
    seconds = iter([*range(0, 5_000, 50), *range(5_000, 5_102)])
    times = StepTimes(lambda: (float(next(seconds)), 0.0))
    for _ in range(202):
        times.begin("0 plan")
    assert times.means()["0 plan"].seconds == pytest.approx(1.0)


def test_the_means_survive_the_file_of_the_state() -> None:
    assert parsed({"0 plan": {"seconds": 0.5, "cpu": 0.25}}) == {"0 plan": StepTime(0.5, 0.25)}
    assert parsed({}) == {}
