"""The cost model: every amount as computed by hand, and what must hold for all workloads and prices."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Usage
from core.evidence.cost_model import ModePlan, grid, plan
from core.evidence.measurement import MODES
from core.evidence.workload import Prices, Workload
from tests.support.examples import planted_study

# 1,000 events/s: 86.4 million a day, 864 million of history, 2,628 million a month of 730 hours.
WORKLOAD = Workload(
    events_per_second=1_000,
    bytes_per_event=200,
    history_days=10,
    retention_days=2,
    rule_changes=1,
    late_share=0.05,
    batches_per_day=24,
    cores=4,
)
# 0.36 an hour is 0.0001 a second.
PRICES = Prices(core_hour=0.36, gb_month=0.02, log_gb_month=0.10, log_replicas=3)
COEFFICIENTS = replace(planted_study.COEFFICIENTS, late_cpu=40)
BOUNDED = st.floats(0.01, 100)
WORKLOADS = st.builds(
    Workload,
    events_per_second=st.floats(1, 1e6),
    bytes_per_event=st.floats(10, 10_000),
    history_days=st.floats(1, 3650),
    retention_days=st.floats(0.1, 365),
    rule_changes=st.just(0) | st.floats(0.01, 100),
    late_share=st.floats(0, 1),
    batches_per_day=st.floats(0.1, 1000),
    cores=st.floats(1, 1000),
)
PRICED = st.builds(Prices, core_hour=BOUNDED, gb_month=BOUNDED, log_gb_month=BOUNDED, log_replicas=st.integers(1, 5))


def planned(mode: str, workload: Workload = WORKLOAD, prices: Prices = PRICES) -> ModePlan:
    return plan(workload, prices, COEFFICIENTS, mode)


def amounts(mode_plan: ModePlan) -> dict[str, float]:
    return {cost.item: cost.amount for cost in mode_plan.costs}


def test_lambda_costs_what_a_person_computes() -> None:
    assert amounts(planned("lambda")) == pytest.approx(
        {
            "live run": 131.4,  # 0.5 cores - 1,000/s × 30 s a million = 0.47 × 2,628,000 s, and 2,628 × 30 s; × 0.0001
            "live run: late events": 0.5256,  # 2,628 × 5 % = 131.4; × 40 s × 0.0001
            "batches: landing": 2.1024,  # 24 × 730 ÷ 24 = 730 × (86.4 ÷ 24 = 3.6) × 8 s × 0.0001
            "batches: build and gate": 192.136,  # 730 × (40 + 864 × (2 + 1) = 2,632) s × 0.0001
            "corrections: build and gate": 0.2632,  # 1 × 2,632 s × 0.0001
            "log": 10.368,  # 2 days = 172.8 million × 200 bytes × 3 = 103.68 GB × 0.10
            "archive": 1.728,  # 864 million × 200 × 50 ÷ 100 = 100 bytes = 86.4 GB × 0.02
            "builds": 0.3456,  # 864 million × 10 bytes × 2 = 17.28 GB × 0.02
            "partial rows": 0.00144,  # 3.6 million × 20 bytes = 0.072 GB × 0.02
        }
    )
    assert planned("lambda").month == pytest.approx(338.87024)


def test_kappa_costs_what_a_person_computes() -> None:
    assert amounts(planned("kappa")) == pytest.approx(
        {
            "live run": 105.12,  # 0.4 cores × 2,628,000 s × 0.0001
            "live run: late events": 0.5256,
            "corrections: replay": 0.6108,  # 1 × (60 + 864 × 7 = 6,048) s × 0.0001
            "corrections: proof": 0.3506,  # 1 × (50 + 864 × 4 = 3,456) s × 0.0001
            "corrections: landing": 2.1024,  # 2,628 × 8 s × 0.0001
            "log": 51.84,  # 864 million × 200 bytes × 3 = 518.4 GB × 0.10
            "partial rows": 0.3456,  # 864 million × 20 bytes = 17.28 GB × 0.02
            "archive": 1.728,
            "builds": 0.1728,  # 864 million × 10 bytes = 8.64 GB × 0.02
            "second run": 0.000345924,  # 17.28 GB × 0.02 × 2,630.4629 s ÷ 2,628,000 s of the month
        },
        rel=1e-6,
    )
    assert planned("kappa").month == pytest.approx(162.796145924)


def test_a_correction_of_lambda_builds_and_reads_what_arrived_meanwhile() -> None:
    # Landing 3.6 million at 4 × 100,000/s is 9 s, building 864 million at 4 × 500,000/s is 432 s.
    # Then a run that reads 500,000/s reads 441 s of 1,000/s: 441 × 1,000 ÷ 499,000. The gate: 5 + 864 × 0.02 ÷ 4.
    expected = {"start": 2, "read": 15 + 9, "compute": 432, "catch-up": 20 + 0.883768, "proof": 9.32, "swap": 1}
    assert planned("lambda").correction == pytest.approx(expected)
    assert planned("lambda").correction_seconds == pytest.approx(489.203768)


def test_a_correction_of_kappa_reads_the_whole_history() -> None:
    # 864 million at 4 × 125,000/s is 1,728 s; 1,728 × 1,000 ÷ 499,000 is 3.462926 s. The proof: 10 + 864 × 4 ÷ 4.
    expected = {"start": 20, "read": 0, "compute": 1_728, "catch-up": 4 + 3.462926, "proof": 874, "swap": 1}
    assert planned("kappa").correction == pytest.approx(expected)
    assert planned("kappa").correction_seconds == pytest.approx(2630.462926)


def test_freshness_retention_and_disk() -> None:
    lambda_, kappa = planned("lambda"), planned("kappa")
    assert (lambda_.freshness_p50, lambda_.freshness_p99) == (0.8, 1.4)
    assert (kappa.freshness_p50, kappa.freshness_p99) == (0.7, 1.3)
    # Lambda: an hour until the next batch, and 9 + 432 + 9.32 s of a batch; 103.68 + 86.4 + 17.28 + 0.072 GB.
    assert lambda_.retention_days == pytest.approx((3600 + 450.32) / 86_400)
    assert (lambda_.disk_gb, lambda_.peak_gb) == pytest.approx((207.432, 207.432))
    # Kappa: 518.4 + 17.28 + 86.4 + 8.64 GB, and 17.28 GB of a second run.
    assert kappa.retention_days == 10
    assert (kappa.disk_gb, kappa.peak_gb) == pytest.approx((630.72, 648.0))
    assert lambda_.limits == kappa.limits == ()


def test_a_live_run_costs_no_less_than_its_events() -> None:
    # 1,000/s × 600 s a million would be 0.6 cores, more than the 0.5 that were measured: 2,628 × 600 s × 0.0001.
    dearer = plan(WORKLOAD, PRICES, replace(COEFFICIENTS, live_cpu=600), "lambda")
    assert amounts(dearer)["live run"] == pytest.approx(157.68)


def test_the_arithmetic_is_written_out() -> None:
    texts = {cost.item: cost.arithmetic for cost in planned("lambda").costs}
    assert texts["batches: landing"] == "730 × 3.6 million events × 8 s ÷ 3,600 × 0.36"
    assert texts["batches: build and gate"] == "730 × (40 s + 864 million events × 3 s) ÷ 3,600 × 0.36"
    assert texts["log"] == "173 million events × 200 bytes × 3 replicas = 104 GB × 0.1"
    second = next(cost for cost in planned("kappa").costs if cost.item == "second run")
    assert second.arithmetic == "864 million events × 20 bytes = 17.3 GB × 0.02 × 0.001 of the month"


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_reads_no_faster_than_events_arrive_never_catches_up(mode: str) -> None:
    # 4 cores read 4 × 125,000 = 500,000/s; 5 cores would read 625,000/s.
    never = planned(mode, replace(WORKLOAD, events_per_second=500_000))
    assert never.correction_seconds is None
    assert (
        "a run never catches up on 4 cores: they read 500,000 records/s, and 500,000 arrive; it needs at least 5 cores"
        in never.limits
    )
    # Its second run is there the whole month: 86,400 × 0.5 million × 10 × 20 bytes × 0.02.
    if mode == "kappa":
        assert amounts(never)["second run"] == pytest.approx(172.8)


def test_batches_that_take_longer_than_their_interval_are_named() -> None:
    # 365 days are 31,536 million: 15,768 s of 4 cores at 500,000/s, 9 s of landing, 5 + 31,536 × 0.02 ÷ 4 = 162.68 s of
    # the gate. 4 × 15,939.68 ÷ 3,600 = 17.7. 3,600 + 15,939.68 s are 0.226 days.
    longer = planned("lambda", replace(WORKLOAD, history_days=365, retention_days=0.1))
    assert longer.limits == (
        "a batch takes 15,940 s on 4 cores, and the next one is due after 3,600 s; it needs about 18 cores",
        "the log keeps 0.1 days, and 0.226 are needed: those between two batches, and those of a batch",
    )


def test_without_rule_changes_kappa_keeps_no_proof_and_no_second_run() -> None:
    never_changed = planned("kappa", replace(WORKLOAD, rule_changes=0, events_per_second=500_000))
    assert [cost.item for cost in never_changed.costs if cost.kind == "storage"] == ["log", "partial rows"]
    assert never_changed.peak_gb == never_changed.disk_gb


@settings(deadline=None)
@given(workload=WORKLOADS, prices=PRICED, factor=st.floats(1.01, 100), mode=st.sampled_from(MODES))
def test_a_month_costs_more_with_more_events_and_with_each_price(
    workload: Workload, prices: Prices, factor: float, mode: str
) -> None:
    month = planned(mode, workload, prices).month
    more = replace(workload, events_per_second=workload.events_per_second * factor)
    assert planned(mode, more, prices).month > month
    for price in ("core_hour", "gb_month", "log_gb_month", "log_replicas"):
        dearer = replace(prices, **{price: getattr(prices, price) * factor})
        assert planned(mode, workload, dearer).month > month


def test_the_grid_has_a_cell_for_each_history_and_number_of_changes() -> None:
    cells = grid(WORKLOAD, PRICES, COEFFICIENTS, histories=(10, 100), changes=(0, 1))
    assert [(cell.history_days, cell.rule_changes) for cell in cells] == [(10, 0), (10, 1), (100, 0), (100, 1)]
    assert (cells[1].lambda_month, cells[1].kappa_month) == pytest.approx((338.87024, 162.796146))
    assert (cells[1].lambda_seconds, cells[1].kappa_seconds) == pytest.approx((489.203768, 2630.462926))
    assert {cell.cheaper for cell in cells} == {"kappa"}
    assert cells[1].saved == pytest.approx(1 - 162.796146 / 338.87024)
    # 8,640 million at 4 × 500,000/s are 4,320 s, and a batch is due each hour.
    assert [cell.cannot_run for cell in cells] == [(), (), ("lambda",), ("lambda",)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("events_per_second", 0),
        ("bytes_per_event", -1),
        ("history_days", 0),
        ("retention_days", inf),
        ("rule_changes", -1),
        ("late_share", 1.5),
        ("batches_per_day", 0),
        ("cores", float("nan")),
    ],
)
def test_a_workload_that_no_instance_has_is_a_usage_error(name: str, value: float) -> None:
    with pytest.raises(Usage, match=f"^{name} is ") as error:
        replace(WORKLOAD, **{name: value})
    assert error.value.fix.startswith("give a ")


@pytest.mark.parametrize(("name", "value"), [("core_hour", -1), ("log_replicas", 0)])
def test_a_negative_price_is_a_usage_error(name: str, value: float) -> None:
    with pytest.raises(Usage, match=f"^{name} is "):
        replace(PRICES, **{name: value})
