"""The bounds of `lk bench soak`: what grows is refused, what only moves up and down is not."""

from __future__ import annotations

import math

from flows.bench.soak.growth import Series, growth

MINUTES = range(121)


def series(*values: float, noise: float = 0.0) -> Series:
    return Series("memory", "memory", "MiB", noise, tuple((60.0 * n, value) for n, value in enumerate(values)))


def test_a_steady_growth_is_refused_with_its_slope() -> None:
    figure = growth(series(*(1_000.0 + n for n in MINUTES)))
    assert not figure.ok
    assert math.isclose(figure.median, 60.0)  # MiB an hour
    assert figure.bound == "≤ 54.5"  # 5 % of the mean of the second half, 1,090, in its hour


def test_ups_and_downs_are_no_growth() -> None:
    figure = growth(series(*(1_000.0 + 200 * (n % 3) for n in MINUTES)))
    assert figure.ok
    assert abs(figure.median) < 10


def test_what_grows_only_while_it_warms_up_is_no_growth() -> None:
    figure = growth(series(*(min(60, n) * 10.0 for n in MINUTES)))
    assert figure.ok
    assert figure.median == 0


def test_a_change_within_the_noise_is_no_growth() -> None:
    figure = growth(series(*(10.0 + n / 60 for n in MINUTES), noise=8.0))
    assert figure.ok
    assert not growth(series(*(10.0 + n / 60 for n in MINUTES), noise=0.5)).ok
