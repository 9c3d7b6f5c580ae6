"""`lk plan` reads a study, plans both modes, and says how far its numbers can be trusted."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import Refused, Usage
from core.evidence.coefficients import LIVE_RATE
from core.evidence.workload import Prices, Workload
from flows.measure import live_system
from flows.plan.plan_tables import show
from flows.plan.plan_texts import duration
from flows.plan.run_plan import run_plan
from infra import measurement_files, study_files
from infra.project_files import COMMITTED_STUDY, ROOT
from tests.support.command import here, write_config
from tests.support.examples.planted_study import SIZES, planted


@pytest.fixture
def study(tmp_path: Path) -> Path:
    measurement_files.write(tmp_path / "study" / "rows" / "planted.parquet", planted())
    return tmp_path / "study"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})


def test_the_default_prices_are_those_of_terraform() -> None:
    prices = {
        item: float(price)
        for item, (_, price) in runpy.run_path(str(ROOT / "terraform" / "costs.py"))["PRICES"].items()
    }
    # 4 GB per core, as in the row "EMR Serverless memory" of docs/deploy/cloud.md.
    core = prices["EMR Serverless core"] + 4 * prices["EMR Serverless memory"]
    expected = (core, prices["S3 storage"], prices["broker disk"], 3)
    assert (Prices().core_hour, Prices().gb_month, Prices().log_gb_month, Prices().log_replicas) == expected


def test_both_modes_are_planned_from_a_folder(study: Path) -> None:
    report = run_plan(Workload(), Prices(), study)
    # 730 × (40 + 31,536 million events × 3 s) ÷ 3,600 × 0.075738, and × 200 bytes × 3 ÷ 1,000 × 0.10.
    lambda_, kappa = ({cost.item: cost.amount for cost in each.costs} for each in report.plans)
    assert lambda_["batches: build and gate"] == pytest.approx(1453.60, abs=0.01)
    assert kappa["log"] == pytest.approx(1892.16)
    # Kappa's disks cost 1,986.71 - 123.33 more, Lambda's cores 1,483.67 - 29.85: equal at 1.2817 times a core's price.
    assert report.cheaper.mode == "lambda"
    assert report.nearest is not None
    assert report.nearest.setting == "core_hour"
    assert report.nearest.factor == pytest.approx(1.2817, abs=0.0001)
    assert report.difference == pytest.approx(report.plans[1].month - report.plans[0].month)
    assert (report.rows, report.busy, report.sizes) == (len(planted()), 0, SIZES)
    assert {row.size for row in report.predictions} == {SIZES[2]}


def test_two_sizes_are_too_few_to_check_a_prediction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = planted(sizes=SIZES[:2])
    measurement_files.write(tmp_path / "study.parquet", [replace(rows[0], busy=True), *rows[1:]])
    report = run_plan(Workload(), Prices(), tmp_path / "study.parquet")
    assert (report.sizes, report.predictions, report.busy) == (SIZES[:2], (), 1)
    show(report)
    printed = " ".join(capsys.readouterr().out.split())
    assert "1 of them were measured while other programs used the machine" in printed
    assert "no prediction could be checked: that needs three sizes" in printed
    assert "what late events cost more than others was not measured" in printed


def test_the_verb_prints_and_answers_in_json(config: Path, study: Path) -> None:
    words = ("plan", "--study", str(study), "--events", "500000", "--cores", "4")
    printed = here(config, *words).ok().out
    assert "Kappa cannot run as stated: a run never catches up on 4 cores" in printed
    answer = here(config, *words, "--json").ok().json
    assert [each["mode"] for each in answer["plans"]] == ["lambda", "kappa"]
    assert [each["correction_seconds"] for each in answer["plans"]] == [None, None]
    assert answer["workload"]["events_per_second"] == 500_000
    assert len(answer["break_evens"]) == 11


def test_the_verb_refuses_a_study_that_is_not_there_and_a_wrong_value(
    config: Path, tmp_path: Path, study: Path
) -> None:
    absent = here(config, "plan", "--study", str(tmp_path / "nowhere"), "--json")
    assert (absent.code, absent.json["fix"]) == (1, "run `lk study`, or name its folder with --study")
    wrong = here(config, "plan", "--study", str(study), "--late", "2", "--json")
    assert (wrong.code, wrong.json["error"]) == (2, "late_share is 2")


@pytest.mark.parametrize("name", ["events_per_second", "history_days", "batches_per_day", "log_replicas"])
def test_values_beyond_all_instances_are_wrong_and_end_no_plan_in_a_bug(study: Path, name: str) -> None:
    of = Workload if hasattr(Workload, name) else Prices
    for value in (1e300, 1e16, 1e-300):
        with pytest.raises(Usage, match=f"{name} is "):
            of(**{name: value})
    for value in (1e15, 1e-60):
        given = of(**{name: value})
        report = run_plan(*((given, Prices()) if isinstance(given, Workload) else (Workload(), given)), study)
        assert all(each.month > 0 for each in report.plans)


def test_without_a_study_of_this_folder_the_committed_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (study_files.default_study(), COMMITTED_STUDY) == (COMMITTED_STUDY, ROOT / "docs" / "report" / "raw.parquet")
    assert len(study_files.read_rows(study_files.default_study())) > 1_000
    measurement_files.write(study_files.FOLDER / study_files.ROWS / "planted.parquet", planted())
    assert study_files.default_study() == study_files.FOLDER
    assert run_plan(Workload(), Prices()).rows == len(planted())


def test_the_live_load_is_that_of_the_study() -> None:
    assert LIVE_RATE == live_system.RATE


def test_a_study_without_a_section_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.parquet"
    measurement_files.write(path, [row for row in planted() if row.question != "freshness"])
    with pytest.raises(Refused) as error:
        run_plan(Workload(), Prices(), path)
    assert error.value.fix == "measure it: `lk study freshness`"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.77, "0.77 s"), (119, "119 s"), (120, "2 min"), (7_200, "2 h"), (172_800, "2 days"), (None, "never")],
)
def test_a_time_is_printed_in_a_unit_that_people_read(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text
