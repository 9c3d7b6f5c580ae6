"""What a report makes of few rows, of none, and of hostile text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import Refused
from core.evidence.questions import QUESTIONS
from flows.report.plots import SPECS
from flows.report.write_report import report
from tests.support.checks.report_page import ReportPage
from tests.support.examples.study_of_all_questions import SIZES, study

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">{{ 7 * 7 }}'


def test_what_was_not_measured_is_listed(tmp_path: Path) -> None:
    incomplete = [row for row in study() if row.question not in ("recovery", "alert") and row.mode == "lambda"]
    text = report(incomplete, tmp_path).page.read_text("utf-8")
    listed = re.findall(r'<li id="missing-([\w-]+)">.*\((.*?); question', text)
    expected = {question.id: "Kappa" for question in QUESTIONS if "kappa" in question.modes}
    assert dict(listed) == expected | {"recovery": "Lambda, Kappa", "alert": "Lambda, Kappa"}
    assert text.count("Not decided") >= 5
    assert "not recorded" in text


def test_a_plot_without_rows_says_how_to_measure_it(tmp_path: Path) -> None:
    incomplete = [row for row in study() if row.question not in ("lag", "correction", "cpu")]
    files = report(incomplete, tmp_path)
    assert {"lag-plot.svg", "history-plot.svg"} & {path.name for path in files.plots} == set()
    assert "<code>lk study overload</code>" in files.page.read_text("utf-8").partition('id="lag-plot"')[2][:600]


def test_one_run_of_one_size_has_a_report_too(tmp_path: Path) -> None:
    run = [row for row in study() if row.repetition == 1 and row.size == SIZES[0]]
    files = report([*run, replace(run[0], question="answers", x=0.0, situation="to kappa")], tmp_path)
    assert len(files.plots) == 7
    assert {each.answer for each in files.recommendations} == {"Not decided"}
    assert ReportPage(files.page.read_text("utf-8")).mistakes == []


@pytest.mark.parametrize("question", sorted({question for spec in SPECS for question in spec.questions}))
def test_a_single_row_has_a_report_too(tmp_path: Path, question: str) -> None:
    row = next(row for row in study() if row.question == question)
    for value in (0.0, row.value):
        files = report([replace(row, value=value)], tmp_path)
        assert ReportPage(files.page.read_text("utf-8")).mistakes == []


@pytest.mark.parametrize("field", ["situation", "part", "view"])
def test_hostile_text_is_shown_as_text(tmp_path: Path, field: str) -> None:
    change: dict[str, Any] = {field: HOSTILE}
    planted = [replace(row, **change) for row in study() if row.question in ("recovery", "freshness")]
    hostile = ReportPage(report(planted, tmp_path).page.read_text("utf-8"))
    assert hostile.loads == hostile.mistakes == []
    assert any(HOSTILE in text for cells in hostile.rows.values() for _, text in cells)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_a_text_that_a_spreadsheet_would_run_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused, match="formula"):
        report([*study(), replace(study()[0], part=text)], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_measured_and_unknown_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="nothing was measured"):
        report([], tmp_path)
    with pytest.raises(Refused, match="question weather"):
        report([replace(study()[0], question="weather")], tmp_path)
