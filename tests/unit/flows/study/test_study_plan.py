"""What a study measures, what is missing of it, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.errors import Refused, Usage
from core.evidence import cases
from core.evidence.measurement import ONE_DAY, STEADY, TOTAL, WHOLE, Measurement
from core.evidence.question import GROUPS
from core.evidence.questions import QUESTIONS
from flows.study import machine, run_study
from flows.study.run_study import MEASURES
from flows.study.study_plan import SECTIONS, StudyInstance, StudyPlan, missing_sections, rows_file, seconds_left
from infra import measurement_files, study_files
from infra.project_files import ROOT

AT = datetime(2026, 11, 26, 5, 49, tzinfo=UTC)


def test_the_mode_that_is_measured_first_alternates() -> None:
    order = [(planned.repetition, planned.mode) for planned in StudyPlan((100_000,), 3).instances()]
    assert order == [(1, "lambda"), (1, "kappa"), (2, "kappa"), (2, "lambda"), (3, "lambda"), (3, "kappa")]


def test_by_default_five_repetitions_of_one_and_ten_million_records() -> None:
    instances = list(StudyPlan().instances())
    assert len(instances) == 20
    assert {instance.size for instance in instances} == {1_000_000, 10_000_000}


def test_what_no_history_changes_is_measured_with_the_shortest_one() -> None:
    plan = StudyPlan((100_000, 200_000), 1)
    assert plan.sections_of(StudyInstance(100_000, 1, "kappa")) == list(SECTIONS)
    assert set(SECTIONS) - set(plan.sections_of(StudyInstance(200_000, 1, "kappa"))) == {
        "settling",
        "overload",
        "recovery",
    }


def test_an_impossible_study_is_named() -> None:
    for arguments in (((), 5), ((100,), 5), ((100_000,), 0)):
        with pytest.raises(Usage, match="needs a repetition"):
            StudyPlan(*arguments)
    with pytest.raises(Usage, match="no section speed"):
        StudyPlan((100_000,), 1, ("speed",))


def test_a_repeated_study_measures_only_what_is_missing(tmp_path: Path) -> None:
    plan, planned = StudyPlan((100_000,), 1, ("freshness", "queries")), StudyInstance(100_000, 1, "lambda")
    assert missing_sections(tmp_path, plan, planned) == ["freshness", "queries"]
    measurement_files.write(rows_file(tmp_path, planned, "freshness"), [])
    assert missing_sections(tmp_path, plan, planned) == ["queries"]
    assert missing_sections(tmp_path, plan, StudyInstance(100_000, 1, "kappa")) == ["freshness", "queries"]


def test_the_time_left_is_the_mean_of_each_section_so_far() -> None:
    taken = {"freshness": [100.0, 200.0], "queries": [50.0]}
    assert seconds_left(taken, ["freshness", "queries", "recovery"]) == 150 + 50 + 100
    assert seconds_left({}, ["freshness"]) is None


def test_every_question_is_answered_by_a_section_of_the_study() -> None:
    assert {question.section for question in QUESTIONS} == set(SECTIONS)
    assert tuple(MEASURES) == SECTIONS
    assert {question.group for question in QUESTIONS} == set(GROUPS)
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)


def test_a_busy_machine_is_refused_or_labelled() -> None:
    assert not machine.is_busy(label=False, share=0.05)
    assert machine.is_busy(label=True, share=0.5)
    with pytest.raises(Refused, match="other programs use 50% of the cores"):
        machine.is_busy(label=False, share=0.5)


def test_a_disk_without_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="needs about 2500000005 GB"):
        machine.require_disk(tmp_path, 10**15)


def test_a_disk_needs_what_an_instance_of_that_size_needed(tmp_path: Path) -> None:
    """Megabytes at the highest; other sizes, parts and situations do not count. 5 GB are to spare."""
    peak = Measurement("disk", "lambda", 3e12, AT, situation="peak", part="in all", size=10**15)
    others = [
        replace(peak, mode="kappa", value=2e12),
        replace(peak, value=9e12, size=10**12),
        replace(peak, value=9e12, part="log"),
        replace(peak, value=9e12, situation="steady"),
    ]
    measurement_files.write(tmp_path / "rows" / "correction.parquet", [peak, *others])
    with pytest.raises(Refused, match="needs about 3000000005 GB"):
        machine.require_disk(tmp_path, 10**15)
    measurement_files.write(tmp_path / "rows" / "correction.parquet", [replace(peak, value=1.0)])
    with pytest.raises(Refused, match="needs about 2500000005 GB"):
        machine.require_disk(tmp_path, 10**15 + 1)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [
        Measurement("freshness", "kappa", 0.7, AT, situation="steady", size=100_000, repetition=2, x=50.0, busy=True),
        Measurement("records-lost", "lambda", 0.0, AT, view="trades_by_day", part="all"),
    ]
    measurement_files.write(tmp_path / "rows" / "b.parquet", rows[1:])
    measurement_files.write(tmp_path / "rows" / "a.parquet", rows[:1])
    assert measurement_files.read(tmp_path) == rows
    assert not list(tmp_path.rglob("*.part"))


def test_damaged_rows_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no Parquet")
    with pytest.raises(Refused, match="cannot be read"):
        measurement_files.read(tmp_path)


def test_a_folder_holds_rows_of_one_machine_and_one_version(tmp_path: Path) -> None:
    plan = StudyPlan((100_000,), 2)
    run_study._require_same_machine(tmp_path, plan)
    run_study._require_same_machine(tmp_path, StudyPlan((1_000_000,), 1, ("resources", "correction")))
    run_study._require_same_machine(tmp_path, plan)
    commands = ["lk study --sizes 0.1 --repeat 2", "lk study --sizes 1 --repeat 1 resources correction"]
    assert study_files.read_origin(tmp_path).command == "; ".join(commands)
    study_files.write_origin(tmp_path, replace(study_files.read_origin(tmp_path), machine="another"))
    with pytest.raises(Refused, match="measured with another"):
        run_study._require_same_machine(tmp_path, plan)


def test_the_cases_ask_for_what_the_study_stores() -> None:
    assert (WHOLE, ONE_DAY, STEADY, TOTAL) == ("whole history", "one day of 10", "steady", "in all")
    for name in ("correction_section.py", "disk_use.py"):
        assert "TOTAL" in (ROOT / "flows/study" / name).read_text("utf-8")
    deploy = (ROOT / "flows/study/deploy.py").read_text("utf-8")
    parts = _named_parts(("cpu", "rate"))
    assert [part for part in parts if f'"{part}"' not in deploy] == []


def _named_parts(questions: Sequence[str]) -> set[str]:
    rows = [
        rows
        for case in cases.CASES
        for criterion in case.criteria
        if criterion.question in questions
        for rows in criterion.rows.values()
    ]
    return {part.name for each in rows for part in each.parts if part.name}
