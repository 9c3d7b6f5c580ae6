"""Break-evens: at the value both modes cost the same, and the nearest one is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from core.evidence.break_even import SETTINGS, BreakEven, break_evens, nearest
from core.evidence.cost_model import plan
from core.evidence.measurement import MODES
from core.evidence.workload import Prices, Workload
from tests.unit.core.evidence.test_cost_model import COEFFICIENTS, PRICED, PRICES, WORKLOAD, WORKLOADS


def by_setting(workload: Workload = WORKLOAD, prices: Prices = PRICES) -> dict[str, BreakEven]:
    return {each.setting: each for each in break_evens(workload, prices, COEFFICIENTS)}


def test_every_setting_but_the_replicas_is_asked() -> None:
    """Replicas and the price of the log's disk are factors of the same amount."""
    assert {*SETTINGS, "log_replicas"} == set(vars(WORKLOAD)) | set(vars(PRICES))


def test_the_price_of_the_log_at_which_both_cost_the_same() -> None:
    # Without the log Lambda costs 338.87024 - 10.368 = 328.50224 and Kappa 162.796146 - 51.84 = 110.956146.
    # Kappa keeps 518.4 - 103.68 = 414.72 GB more: 217.546094 ÷ 414.72 = 0.524561.
    price = by_setting()["log_gb_month"]
    assert price.value == pytest.approx(0.524561, rel=1e-5)
    assert price.factor == pytest.approx(5.24561, rel=1e-5)
    assert (price.today, price.above) == (0.10, "lambda")


def test_the_batches_a_day_at_which_both_cost_the_same() -> None:
    # A batch a day costs 30.416667 × 2,632 s × 0.0001 = 8.005667 a month; what is landed is the same for any number.
    # Lambda is dearer by 338.87024 - 162.796146 = 176.074094 ÷ 8.005667 = 21.993683 of 24 batches: 2.006317.
    # The partial rows until the next batch then cost 0.03456 ÷ 2.0043 instead of ÷ 24, 0.015803 more: 2.004343.
    batches = by_setting()["batches_per_day"]
    assert batches.value == pytest.approx(2.004343, rel=1e-6)
    assert batches.above == "kappa"


def test_a_setting_that_changes_nothing_has_no_break_even() -> None:
    late = by_setting()["late_share"]
    assert (late.value, late.above, late.factor) == (None, "", None)


def test_a_setting_that_is_zero_today_is_looked_for_around_one() -> None:
    # A batch a day, and a gigabyte of the log for 0.01. Lambda: live 131.9256 + batches 30.416667 × (691.2 + 2,632) s ×
    # 0.0001 = 10.108067 + log 1.0368 + archive 1.728 + builds 0.3456 + partial rows 0.03456 = 145.178627, and 0.2632
    # for each change. Kappa: live 105.6456 + landing 2.1024 + log 5.184 + partial rows 0.3456 + archive and build of
    # proofs 1.9008 = 115.1784, and for each change 0.6108 + 0.3506 + a second run 0.000346 = 0.961746.
    # 30.000227 ÷ 0.698546 = 42.946676.
    daily = replace(WORKLOAD, batches_per_day=1, rule_changes=0)
    changes = by_setting(daily, replace(PRICES, log_gb_month=0.01))["rule_changes"]
    assert changes.value == pytest.approx(42.9467, rel=1e-5)
    assert (changes.today, changes.factor, changes.above) == (0, None, "lambda")


def test_the_nearest_setting_changes_the_answer_by_the_smallest_factor() -> None:
    near = BreakEven("cores", "cores", 8, 4, "kappa")
    far = BreakEven("history_days", "days", 10, 30, "kappa")
    none = BreakEven("late_share", "share", 0.1, None, "")
    assert nearest([far, near, none]) == near
    assert nearest([none]) is None
    assert (near.factor, far.factor) == (2, 3)


@settings(deadline=None, max_examples=10)
@given(workload=WORKLOADS, prices=PRICED)
def test_the_value_put_back_gives_equal_costs(workload: Workload, prices: Prices) -> None:
    for setting, break_even in by_setting(workload, prices).items():
        if break_even.value is None:
            continue
        change = {setting: break_even.value}
        there = replace(workload, **change) if setting in vars(workload) else workload
        priced = replace(prices, **change) if setting in vars(prices) else prices
        lambda_, kappa = (plan(there, priced, COEFFICIENTS, mode).month for mode in MODES)
        assert lambda_ == pytest.approx(kappa, rel=1e-3)
