"""The rate and the CPU time of a program, from samples of its progress."""

from __future__ import annotations

import pytest

from core.errors import Refused
from flows.bench.peers.reading_rate import ReadingSample, reading_rate, with_cpu


def test_the_rate_is_of_the_last_nine_tenths() -> None:
    samples = [
        ReadingSample(10.0, 50, 1.0),
        ReadingSample(12.0, 100, 4.0),
        ReadingSample(14.0, 600, 6.0),
        ReadingSample(15.0, 1_000, 7.0),
    ]
    measured = reading_rate(samples, 1_000, 9.0)
    assert measured.rate == 300.0
    assert measured.cpu == pytest.approx(0.003333333)
    assert measured.seconds == 9.0


def test_samples_behind_the_end_do_not_count() -> None:
    samples = [ReadingSample(10.0, 100, 1.0), ReadingSample(13.0, 1_000, 4.0), ReadingSample(60.0, 1_000, 9.0)]
    assert reading_rate(samples, 1_000, 60.0).rate == 300.0


def test_samples_that_do_not_reach_the_end_are_refused() -> None:
    with pytest.raises(Refused, match="the last one is at 900 of 1,000 records"):
        reading_rate([ReadingSample(1.0, 200, 1.0), ReadingSample(2.0, 900, 2.0)], 1_000, 2.0)


def test_a_single_sample_is_refused() -> None:
    with pytest.raises(Refused, match="do not tell a rate"):
        reading_rate([ReadingSample(1.0, 1_000, 1.0)], 1_000, 1.0)
    with pytest.raises(Refused, match="the last one is at 0 of 1,000 records"):
        reading_rate([], 1_000, 1.0)


def test_cpu_grows_evenly_between_two_measurements() -> None:
    cpu = [(10.0, 1.0), (12.0, 3.0), (14.0, 3.5)]
    samples = with_cpu([(9.0, 1), (11.0, 2), (12.0, 3), (13.0, 4), (20.0, 5)], cpu)
    assert [sample.cpu for sample in samples] == [1.0, 2.0, 3.0, 3.25, 3.5]
    assert [sample.records for sample in samples] == [1, 2, 3, 4, 5]
