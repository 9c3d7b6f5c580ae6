"""The architects' report: every number is that of its raw rows, and nothing is loaded."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq
import pytest

from core.evidence.measurement import Measurement
from core.evidence.origin import Origin
from core.evidence.questions import BY_ID, QUESTIONS
from flows.report.chart_style import DARK
from flows.report.write_report import ReportFiles, report
from infra.project_files import ROOT
from tests.support.checks.report_page import ReportPage
from tests.support.examples.study_of_all_questions import study

ORIGIN = Origin("a machine with 2 cores", "Python 3.11", "lk study --repeat 5")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return report(study(), tmp_path_factory.mktemp("report"), ORIGIN)


@pytest.fixture(scope="module")
def text(files: ReportFiles) -> str:
    return files.page.read_text("utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> ReportPage:
    return ReportPage(text)


def numbers(page: ReportPage, row_id: str) -> list[str]:
    """The numbers of a row of a question's table: median, spread and n of each mode, or a dash."""
    return [text.strip() for kind, text in page.rows[row_id] if kind.startswith("n")]


def anchor(row: Measurement) -> str:
    """The id of the row of the page that a measurement belongs to."""
    x = "" if row.x is None or row.question in ("answers", "lag") else f"{row.x:g}"
    texts = (row.question, row.situation, row.part, row.view, str(row.size), x, "busy" * row.busy)
    return "-".join(re.sub(r"\W", "_", text) for text in texts)


def test_the_page_is_well_formed_and_its_ids_are_unique(page: ReportPage) -> None:
    assert page.mistakes == []
    assert [name for name in set(page.ids) if page.ids.count(name) > 1] == []


def test_the_page_loads_nothing(files: ReportFiles, text: str, page: ReportPage) -> None:
    assert page.loads == []
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|//cdn|url\(|@import|@font-face", text) == []
    outside = {link for link in page.links if not link.startswith("#")}
    assert outside == {"raw.csv", "raw.parquet"}
    assert [link for link in outside if not (files.page.parent / link).is_file()] == []


def test_a_page_that_loads_would_be_seen() -> None:
    bad = ReportPage(
        '<p><img src="x.png"><a href="#a">a</a><script src="y.js"></script><svg><use xlink:href="#b"/></svg></div>'
    )
    assert bad.loads == ["img src", "img", "script src", "script", "use xlink:href", "use"]
    assert bad.mistakes != []


def test_every_link_inside_the_page_has_its_target(page: ReportPage) -> None:
    targets = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert len(targets) > 60
    assert sorted(targets - set(page.ids)) == []


def test_every_question_has_its_text_its_method_its_command_and_its_raw_rows(text: str, page: ReportPage) -> None:
    counts = Counter(row.question for row in study())
    for question in QUESTIONS:
        article = text[text.index(f'<article class="question" id="{question.id}">') :].partition("</article>")[0]
        count = counts[question.id]
        shown = article.replace("<code>", "`").replace("</code>", "`").replace("&#39;", "'")
        assert question.text in shown
        assert question.how in shown
        sizes = ",".join(
            str(size // 1_000_000) for size in sorted({r.size for r in study() if r.question == question.id})
        )
        assert f"`lk study --sizes {sizes} --repeat 5 {question.section}`" in shown
        assert f"{count:,} rows" in shown
        assert f"where `question` is `{question.id}`" in shown
        assert (f"raw-{question.id}" in page.ids) == (count <= 200)


def test_each_number_of_a_table_is_the_median_of_its_raw_rows(page: ReportPage) -> None:
    """Computed here from the planted rows; three digits are shown. Curves show some of their places."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    questions = {anchor(row): BY_ID[row.question] for row in study()}
    for row in study():
        values[anchor(row)][row.mode].append(row.value)
    shown = [row_id for row_id in page.rows if row_id]
    assert (len(shown), len(values)) == (162, 164)
    for row_id in shown:
        cells = iter(numbers(page, row_id))
        for mode in questions[row_id].modes:
            own = values[row_id][mode]
            text = next(cells)
            if not own:
                assert text == "–"
                continue
            ends = next(cells).split("–")
            assert _near(text, median(own)), row_id
            assert (_near(ends[0], min(own)), _near(ends[-1], max(own))) == (True, True), row_id
            assert next(cells) == f"{len(own):,}"


def _near(text: str, value: float) -> bool:
    return float(text.replace(",", "")) == pytest.approx(value, rel=0.005, abs=1e-9)


def test_the_spread_and_the_number_of_repetitions_stand_beside_the_median(page: ReportPage) -> None:
    rows = [row for row in study() if (row.question, row.part) == ("rollback", "the command")]
    expected = []
    for mode in ("lambda", "kappa"):
        own = sorted(row.value for row in rows if row.mode == mode)
        expected += [f"{own[2]:.2f}", f"{own[0]:.2f}–{own[4]:.2f}", "5"]
    assert numbers(page, "rollback--the_command--1000000--") == expected


def test_the_first_screen_has_the_machine_the_time_and_the_five_answers(text: str, files: ReportFiles) -> None:
    first = text[text.index("<header>") : text.index("<nav")]
    assert all(value in first for value in asdict(ORIGIN).values())
    assert "2026-11-27 09:00:00 UTC to " in first
    assert len(files.recommendations) == first.count('<article class="case"') == 5
    for each in files.recommendations:
        assert each.reason[1:] in first
    assert first.count("The row that decides it") == 5


def test_with_every_question_measured_nothing_is_listed(text: str) -> None:
    assert "Every question was measured in each mode that it is about." in text


def test_every_plot_is_drawn_with_alternative_text_and_is_a_file_too(files: ReportFiles, page: ReportPage) -> None:
    assert [path.name for path in files.plots] == [
        "freshness-plot.svg",
        "settling-plot.svg",
        "history-plot.svg",
        "answers-plot.svg",
        "resources-plot.svg",
        "lag-plot.svg",
        "recovery-plot.svg",
    ]
    assert len(page.images) == len(files.plots)
    assert [text for text in page.images if not re.search(r"Lambda.*\d.*Kappa.*\d", text)] == []
    for path in files.plots:
        assert ReportPage(path.read_text("utf-8")).images != [""]


def test_a_dark_screen_has_colours_of_its_own_for_the_page_and_for_every_colour_of_a_plot(page: ReportPage) -> None:
    dark = [style for style in page.styles if "prefers-color-scheme" in style]
    assert len(dark) == 1 + len(page.images)
    for style in dark[1:]:
        for light, value in DARK.items():
            assert f'[fill="{light}"]{{fill:{value}}}' in style
            assert f'[stroke="{light}"]{{stroke:{value}}}' in style
    assert "@media print" in dark[0]


def test_a_plot_has_no_colour_that_stays_light_on_a_dark_screen(files: ReportFiles) -> None:
    for path in files.plots:
        drawing = path.read_text("utf-8").partition("</style>")[2]
        assert set(re.findall(r'(?:fill|stroke)="(#\w+|[a-z]+)"', drawing)) <= {*DARK, "none", "transparent"}


def test_lambda_and_kappa_differ_by_more_than_colour(files: ReportFiles) -> None:
    lag = next(path for path in files.plots if path.name == "lag-plot.svg").read_text("utf-8")
    assert 'stroke-dasharray="6,3"' in lag
    recovery = next(path for path in files.plots if path.name == "recovery-plot.svg").read_text("utf-8")
    shapes = re.findall(r'd="M(\S+)"[^>]* fill="(#0b5fa5|#b8430a)"', recovery)
    assert {colour for path, colour in shapes if "A" in path} == {"#0b5fa5"}
    assert {colour for path, colour in shapes if "A" not in path} == {"#b8430a"}


def test_the_raw_files_have_every_row(files: ReportFiles) -> None:
    with files.csv.open(encoding="utf-8", newline="") as lines:
        written = list(csv.DictReader(lines))
    assert [_measurement(row) for row in written] == study()
    assert pq.read_table(files.parquet).num_rows == len(study())


def _measurement(row: dict[str, str]) -> Measurement:
    return Measurement(
        row["question"],
        row["mode"],
        float(row["value"]),
        datetime.fromisoformat(row["at"]),
        row["situation"],
        row["part"],
        row["view"],
        int(row["size"]),
        int(row["repetition"]),
        float(row["x"]) if row["x"] else None,
        row["busy"] == "True",
    )


def test_a_report_is_replaced_and_leaves_no_part_of_a_file(files: ReportFiles, tmp_path: Path) -> None:
    again = report(study(), tmp_path, ORIGIN)
    assert report(study(), tmp_path, ORIGIN) == again
    assert again.page.read_bytes() == files.page.read_bytes()
    assert [path for path in tmp_path.rglob("*") if path.name.endswith(".part")] == []


_WITHOUT_A_NETWORK = """
import sys, vl_convert
from flows.report import svg
import altair as alt, pandas as pd
rows = pd.DataFrame({"x": [1, 2], "mode": ["Lambda", "Kappa"]})
print(svg.drawn("plot", alt.Chart(rows).mark_point().encode(x="x:Q"), "two points")[:4])
try:
    vl_convert.vegalite_to_svg({"data": {"url": "http://127.0.0.1:9/a.csv"}, "mark": "point"}, allowed_base_urls=[])
except ValueError as error:
    print("refused" if "http" in str(error) else error)
"""


def test_plots_are_drawn_without_a_network() -> None:
    """In a network namespace without any interface; and a chart that names an address is refused."""
    cut = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*cut, "true"], capture_output=True).returncode:
        cut = []  # this machine allows no namespaces: only the second check holds
    output = subprocess.run(
        [*cut, sys.executable, "-c", _WITHOUT_A_NETWORK], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert output.stdout.split() == ["<svg", "refused"]
