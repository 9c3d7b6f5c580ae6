"""The architects' report: every number is that of its raw rows, nothing is loaded, hostile text stays text."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest

from core.errors import Refused
from core.evidence import cases
from core.evidence.measurement import ONE_DAY, STEADY, TOTAL, WHOLE, Measurement
from core.evidence.origin import Origin
from core.evidence.questions import BY_ID, QUESTIONS
from flows.report.chart_style import DARK
from flows.report.plots import SPECS
from flows.report.write_report import ReportFiles, report
from infra.project_files import ROOT
from tests.support.study_of_all_questions import SIZES, study

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">{{ 7 * 7 }}'
VOID = {"meta", "br", "link", "img", "input", "hr"}
ORIGIN = Origin("a machine with 2 cores", "Python 3.11", "lk study --repeat 5")


class Page(HTMLParser):
    """A page as a browser sees it: ids, links, tables by the id of their article, what is loaded, what is unclosed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.images: list[str] = []
        self.rows: dict[str, list[list[str]]] = {}  # id -> class and text of each cell
        self.styles: list[str] = []
        self._row = ""
        self.feed(text)
        self.mistakes += self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if tag == "a" else []
        self.loads += [f"{tag} {name}" for name, value in attrs if name in ("src", "srcset", "data", "xlink:href")]
        self.loads += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        self.loads += [tag] if tag in ("script", "link", "iframe", "img", "object", "embed", "image", "use") else []
        if tag == "svg":
            self.images.append(values.get("aria-label") or "")
        if tag == "tr":
            self._row = values.get("id") or ""
            self.rows.setdefault(self._row, [])
        if tag in ("td", "th"):
            self.rows[self._row].append([values.get("class") or "", ""])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        if "tr" in self.open and self.rows[self._row]:
            self.rows[self._row][-1][1] += data.strip("\n")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return report(study(), tmp_path_factory.mktemp("report"), ORIGIN)


@pytest.fixture(scope="module")
def text(files: ReportFiles) -> str:
    return files.page.read_text("utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def numbers(page: Page, row_id: str) -> list[str]:
    """The numbers of a row of a question's table: median, spread and n of each mode, or a dash."""
    return [text.strip() for kind, text in page.rows[row_id] if kind.startswith("n")]


def anchor(row: Measurement) -> str:
    """The id of the row of the page that a measurement belongs to."""
    x = "" if row.x is None or row.question in ("answers", "lag") else f"{row.x:g}"
    texts = (row.question, row.situation, row.part, row.view, str(row.size), x, "busy" * row.busy)
    return "-".join(re.sub(r"\W", "_", text) for text in texts)


def test_the_page_is_well_formed_and_its_ids_are_unique(page: Page) -> None:
    assert page.mistakes == []
    assert [name for name in set(page.ids) if page.ids.count(name) > 1] == []


def test_the_page_loads_nothing(files: ReportFiles, text: str, page: Page) -> None:
    assert page.loads == []
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|//cdn|url\(|@import|@font-face", text) == []
    outside = {link for link in page.links if not link.startswith("#")}
    assert outside == {"raw.csv", "raw.parquet"}
    assert [link for link in outside if not (files.page.parent / link).is_file()] == []


def test_a_page_that_loads_would_be_seen() -> None:
    bad = Page(
        '<p><img src="x.png"><a href="#a">a</a><script src="y.js"></script><svg><use xlink:href="#b"/></svg></div>'
    )
    assert bad.loads == ["img src", "img", "script src", "script", "use xlink:href", "use"]
    assert bad.mistakes != []


def test_every_link_inside_the_page_has_its_target(page: Page) -> None:
    targets = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert len(targets) > 60
    assert sorted(targets - set(page.ids)) == []


def test_every_question_has_its_text_its_method_its_command_and_its_raw_rows(text: str, page: Page) -> None:
    counts = Counter(row.question for row in study())
    for question in QUESTIONS:
        article = text[text.index(f'<article class="question" id="{question.id}">') :].partition("</article>")[0]
        count = counts[question.id]
        shown = article.replace("<code>", "`").replace("</code>", "`").replace("&#39;", "'")
        assert question.text in shown
        assert question.how in shown
        assert f"`lk study {question.section}`" in shown
        assert f"{count:,} rows" in shown
        assert f"where `question` is `{question.id}`" in shown
        assert (f"raw-{question.id}" in page.ids) == (count <= 200)


def test_each_number_of_a_table_is_the_median_of_its_raw_rows(page: Page) -> None:
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


def test_the_spread_and_the_number_of_repetitions_stand_beside_the_median(page: Page) -> None:
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


def test_what_was_not_measured_is_listed(tmp_path: Path) -> None:
    some = [row for row in study() if row.question not in ("recovery", "alert") and row.mode == "lambda"]
    text = report(some, tmp_path).page.read_text("utf-8")
    listed = re.findall(r'<li id="missing-([\w-]+)">.*\((.*?); question', text)
    expected = {question.id: "Kappa" for question in QUESTIONS if "kappa" in question.modes}
    assert dict(listed) == expected | {"recovery": "Lambda, Kappa", "alert": "Lambda, Kappa"}
    assert text.count("Not decided") >= 5
    assert "not recorded" in text


def test_with_every_question_measured_nothing_is_listed(text: str) -> None:
    assert "Every question was measured in each mode that it is about." in text


def test_every_plot_is_drawn_with_alternative_text_and_is_a_file_too(files: ReportFiles, page: Page) -> None:
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
        assert Page(path.read_text("utf-8")).images != [""]


def test_a_plot_without_rows_says_how_to_measure_it(tmp_path: Path) -> None:
    some = [row for row in study() if row.question not in ("lag", "correction", "cpu")]
    files = report(some, tmp_path)
    assert {"lag-plot.svg", "history-plot.svg"} & {path.name for path in files.plots} == set()
    assert "<code>lk study overload</code>" in files.page.read_text("utf-8").partition('id="lag-plot"')[2][:600]


def test_one_run_of_one_size_has_a_report_too(tmp_path: Path) -> None:
    run = [row for row in study() if row.repetition == 1 and row.size == SIZES[0]]
    files = report([*run, replace(run[0], question="answers", x=0.0, situation="to kappa")], tmp_path)
    assert len(files.plots) == 7
    assert {each.answer for each in files.recommendations} == {"Not decided"}
    assert Page(files.page.read_text("utf-8")).mistakes == []


@pytest.mark.parametrize("question", sorted({question for spec in SPECS for question in spec.questions}))
def test_a_single_row_has_a_report_too(tmp_path: Path, question: str) -> None:
    row = next(row for row in study() if row.question == question)
    for value in (0.0, row.value):
        files = report([replace(row, value=value)], tmp_path)
        assert Page(files.page.read_text("utf-8")).mistakes == []


def test_a_dark_screen_has_colours_of_its_own_for_the_page_and_for_every_colour_of_a_plot(page: Page) -> None:
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


@pytest.mark.parametrize("field", ["situation", "part", "view"])
def test_hostile_text_is_shown_as_text(tmp_path: Path, field: str) -> None:
    change: dict[str, Any] = {field: HOSTILE}
    planted = [replace(row, **change) for row in study() if row.question in ("recovery", "freshness")]
    hostile = Page(report(planted, tmp_path).page.read_text("utf-8"))
    assert hostile.loads == hostile.mistakes == []
    assert any(HOSTILE in text for cells in hostile.rows.values() for _, text in cells)


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
