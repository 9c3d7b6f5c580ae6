"""The costs in the report: the planner's formula for the rows of the page, or what these rows lack."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from core.evidence.quantity import number
from flows.plan.plan_texts import duration
from flows.report.write_report import report
from tests.support.command import here, write_config
from tests.support.examples.planted_study import SIZES, planted
from tests.support.examples.study_of_all_questions import study

# History and rule changes -> what the cell says. The row of a year is in docs/plan.md, with its arithmetic.
CELLS = {
    ("7 days", "0"): "Kappa, 38 % less; Lambda 94.5 3.34 min; Kappa 58.7 15.7 min",
    ("7 days", "1"): "Kappa, 36 % less; Lambda 94.6 3.34 min; Kappa 60.8 15.7 min",
    ("7 days", "4"): "Kappa, 35 % less; Lambda 94.7 3.34 min; Kappa 61.2 15.7 min",
    ("7 days", "30"): "Kappa, 32 % less; Lambda 95.7 3.34 min; Kappa 64.9 15.7 min",
    ("30 days", "0"): "Kappa, 7 % less; Lambda 192 11.7 min; Kappa 179 65.4 min",
    ("30 days", "1"): "Kappa, 3 % less; Lambda 192 11.7 min; Kappa 186 65.4 min",
    ("30 days", "4"): "Kappa, 2 % less; Lambda 192 11.7 min; Kappa 188 65.4 min",
    ("30 days", "30"): "Lambda, 4 % less; Lambda 197 11.7 min; Kappa 204 65.4 min",
    ("90 days", "0"): "Lambda, 10 % less; Lambda 445 33.5 min; Kappa 492 3.25 h",
    ("90 days", "1"): "Lambda, 13 % less; Lambda 445 33.5 min; Kappa 514 3.25 h",
    ("90 days", "4"): "Lambda, 14 % less; Lambda 447 33.5 min; Kappa 520 3.25 h",
    ("90 days", "30"): "Lambda, 19 % less; Lambda 459 33.5 min; Kappa 567 3.25 h",
    ("365 days", "0"): "Lambda, 17 % less; Lambda 1,605 2.23 h; Kappa 1,929 13.2 h; Lambda cannot run so",
    ("365 days", "1"): "Lambda, 20 % less; Lambda 1,607 2.23 h; Kappa 2,017 13.2 h; Lambda cannot run so",
    ("365 days", "4"): "Lambda, 21 % less; Lambda 1,613 2.23 h; Kappa 2,039 13.2 h; Lambda cannot run so",
    ("365 days", "30"): "Lambda, 26 % less; Lambda 1,665 2.23 h; Kappa 2,236 13.2 h; Lambda cannot run so",
    ("1,825 days", "0"): "Lambda, 19 % less; Lambda 7,765 11.1 h; Kappa 9,555 2.74 days; Lambda cannot run so",
    ("1,825 days", "1"): "Lambda, 22 % less; Lambda 7,775 11.1 h; Kappa 9,998 2.74 days; Lambda cannot run so",
    ("1,825 days", "4"): "Lambda, 23 % less; Lambda 7,805 11.1 h; Kappa 10,127 2.74 days; Lambda cannot run so",
    ("1,825 days", "30"): "Lambda, 27 % less; Lambda 8,064 11.1 h; Kappa 11,122 2.74 days; Lambda cannot run so",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(planted(), tmp_path_factory.mktemp("report")).page.parent


@pytest.fixture(scope="module")
def section(folder: Path) -> str:
    return costs_of(folder / "report.html")


def costs_of(page: Path) -> str:
    """The section of the costs."""
    return page.read_text("utf-8").partition('<section id="costs"')[2].partition("</section>")[0]


def cells(section: str) -> dict[tuple[str, str], str]:
    """History and rule changes -> the text of the cell, lines parted by semicolons."""
    changes = re.findall(r'<th scope="col">([^<]+)</th>', section)
    all_cells = {}
    for days, row in re.findall(r'<tr><th scope="row">([^<]+)</th>(.*?)</tr>', section, re.S):
        for number_of_changes, cell in zip(changes, re.findall(r"<td>(.*?)</td>", row, re.S), strict=True):
            all_cells[(days, number_of_changes)] = words(re.sub(r'<span class="side">|<div class="faint">', "; ", cell))
    return all_cells


def words(html: str) -> str:
    """The text that a page reads out: without tags and without marks that are hidden."""
    text = re.sub(r'<span aria-hidden="true">.*?</span>|<[^>]+>', "", html)
    return " ".join(text.split()).replace(" ;", ";")


def test_each_cell_names_the_cheaper_mode_both_costs_and_both_times_in_words(section: str) -> None:
    assert cells(section) == CELLS


def test_a_cell_is_what_a_person_computes_from_the_planted_rows(section: str) -> None:
    """30 days of 86.4 million events are 2,592 million; a month has 2,628 million, and as many thousand seconds."""
    lambda_seconds = (
        (0.5 - 0.03) * 2_628_000  # a live run uses 0.5 cores, of which the events have 1,000 × 30 s a million
        + 2_628 * 30
        + 730 * 3.6 * 8  # landings: 3.6 million an hour
        + (730 + 4) * (40 + 2_592 * (2 + 1))  # builds and gates, of batches and of corrections
    )
    kappa_seconds = (
        (0.4 - 0.03) * 2_628_000
        + 2_628 * 30
        + 4 * (60 + 2_592 * 7)  # replays
        + 4 * (50 + 2_592 * (12 - 8))  # proofs without their landings
        + 2_628 * 8  # landings
    )
    # On 8 cores, of which each reads 125,000 a second as the study's two read 250,000: 2,592 s, and what arrived then.
    correction = 20 + 2_592 + 4 + 2_592 * 1_000 / 999_000 + 10 + 2_592 * 4 / 8 + 1
    gigabytes = 2_592 / 1_000  # of a byte an event
    lambda_stores = 7 * 86.4 / 1_000 * 200 * 3 * 0.10 + (gigabytes * (100 + 10 * 2) + 0.0036 * 20) * 0.023
    kappa_stores = gigabytes * 200 * 3 * 0.10 + gigabytes * (20 + 100 + 10 + 20 * 4 * correction / 2_628_000) * 0.023
    lambda_month = lambda_seconds / 3_600 * 0.075738 + lambda_stores
    kappa_month = kappa_seconds / 3_600 * 0.075738 + kappa_stores
    assert (lambda_month, kappa_month, correction / 60) == pytest.approx((192.226, 188.244, 65.4265), abs=0.001)
    assert cells(section)[("30 days", "4")] == "Kappa, 2 % less; Lambda 192 11.7 min; Kappa 188 65.4 min"


def test_the_command_beside_the_grid_computes_its_cell(
    folder: Path, section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = re.findall(r"<code>(lk plan -[^<]+)</code>", section)
    assert command == "lk plan --study raw.parquet --history-days 365 --rule-changes 1"
    monkeypatch.chdir(folder)
    config = write_config(tmp_path / "lk.toml", {"data": str(tmp_path / "data")})
    plans = here(config, *shlex.split(command)[1:], "--json").ok().json["plans"]
    costs = [
        f"{each['mode'].capitalize()} {number(each['month'])} {duration(each['correction_seconds'])}" for each in plans
    ]
    assert costs == ["Lambda 1,607 2.23 h", "Kappa 2,017 13.2 h"]
    assert "; ".join(costs) in cells(section)[("365 days", "1")]


def test_it_says_what_it_is_computed_from(section: str) -> None:
    text = words(section)
    assert "Computed, not measured: by the formula of lk plan, from the CPU seconds, rates, bytes and times" in text
    assert "1,000 events/s of 200 bytes, 5 % of them late; 24 batches a day; 8 cores" in text
    assert "0.075738 dollars for a core hour, 0.023 for a GB-month in the object store, 0.1 for one of the log" in text
    assert "has 604,800,000 events, and the largest log that was measured has 100,000,000 records" in text


def test_one_size_is_said_to_be_too_few(tmp_path: Path) -> None:
    text = words(costs_of(report(planted(SIZES[:1]), tmp_path).page))
    assert "Not computed: no plan follows from the study: all its logs have" in text


def test_modes_of_nearly_the_same_cost_are_told_so(tmp_path: Path) -> None:
    all_cells = cells(costs_of(report(study(), tmp_path).page))
    assert all_cells[("90 days", "1")] == "Lambda, under 1 % less; Lambda 509 17.8 min; Kappa 514 2.75 h"


def test_without_a_measurement_the_section_says_which_one_is_missing(tmp_path: Path) -> None:
    incomplete = [row for row in planted() if row.question != "freshness" and row.part != "replay"]
    page = report(incomplete, tmp_path).page
    assert words(costs_of(page)).partition("would cost ")[2] == (
        "Not computed: the study did not measure: cpu replay, rate replay, freshness steady 50 lambda, "
        "freshness steady 99 lambda, freshness steady 50 kappa, freshness steady 99 kappa. "
        "Measure it: lk study resources, lk study freshness."
    )
    assert page.read_text("utf-8").count('id="costs') == 2
    assert "<table" not in costs_of(page)


def test_a_log_that_does_not_grow_is_said_too(tmp_path: Path) -> None:
    flat = [replace(row, value=5.0) if (row.question, row.part) == ("disk", "log") else row for row in planted()]
    assert (
        "Not computed: no plan follows from the study: in it, disk log steady does not grow with the events. "
        "Measure more or larger sizes: lk study resources."
    ) in words(costs_of(report(flat, tmp_path).page))


def test_the_section_has_no_colour_of_its_own_that_would_stay_on_a_dark_screen(section: str) -> None:
    assert re.findall(r"style=|color|fill=|#[0-9a-f]{3,6}\b", section) == []
