"""The page of the report: one file that loads nothing, with light and dark colours, readable without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment

from core.evidence.comparison import CLEAR, ENOUGH
from core.evidence.measurement import Measurement
from core.evidence.origin import Origin
from core.evidence.quantity import number, quantity
from core.evidence.question import GROUPS, Question, study_command
from core.evidence.questions import BY_ID, QUESTIONS
from core.evidence.recommendations import Recommendation
from core.evidence.summary import Summary, in_short, not_measured
from flows.plan.plan_texts import duration
from flows.report.chart_style import LABELS
from flows.report.cost_grid import cost_grid
from flows.report.plots import Plot
from flows.report.question_tables import QuestionTable, anchor, question_table, series_key, spread
from infra.html_templates import html_templates

MOST_RAW_ROWS = 200  # in the page; more are in the raw files only
MARKS = {"lambda": "●", "kappa": "◆", "": "○"}


@dataclass(frozen=True)
class Answer:
    """A question, its table, and its raw rows if they are few enough for the page."""

    question: Question
    table: QuestionTable
    count: int
    raw: Sequence[Measurement]
    command: str


def render(
    measurements: Sequence[Measurement],
    recommendations: Sequence[Recommendation],
    plots: Sequence[Plot],
    origin: Origin,
) -> str:
    """The HTML of the page. Every text is escaped, except the plots, which are SVG that this project has drawn."""
    answers = _answers(measurements)
    shown = {row.anchor for answer in answers for row in answer.table.rows}
    templates = _templates()
    templates.filters["row"] = lambda row: _link(row, shown)
    return templates.get_template("report.html").render(
        origin=origin,
        rows=measurements,
        busy=sum(row.busy for row in measurements),
        sizes=sorted({row.size for row in measurements if row.size}),
        first=min(row.at for row in measurements),
        last=max(row.at for row in measurements),
        recommendations=recommendations,
        plots=plots,
        groups=_by_group(answers),
        costs=cost_grid(measurements),
        missing=not_measured(measurements),
        labels=LABELS,
        marks=MARKS,
        by_id=BY_ID,
        clear=CLEAR,
        enough=ENOUGH,
    )


def _answers(measurements: Sequence[Measurement]) -> list[Answer]:
    """Every question that was measured, in the order of QUESTIONS."""
    raw: dict[str, list[Measurement]] = {question.id: [] for question in QUESTIONS}
    for row in measurements:
        raw[row.question].append(row)
    return [_answer(question, raw[question.id]) for question in QUESTIONS if raw[question.id]]


def _answer(question: Question, rows: Sequence[Measurement]) -> Answer:
    sizes, repeat = sorted({row.size for row in rows}), max(row.repetition for row in rows)
    shown = rows if len(rows) <= MOST_RAW_ROWS else ()
    again = study_command(sizes, repeat, [question.section])
    return Answer(question, question_table(question, in_short(rows)), len(rows), shown, again)


def _by_group(answers: Iterable[Answer]) -> Mapping[str, list[Answer]]:
    groups: dict[str, list[Answer]] = {group: [] for group in GROUPS}
    for answer in answers:
        groups[answer.question.group].append(answer)
    return {group: of_group for group, of_group in groups.items() if of_group}


def _link(row: Summary, shown: set[str]) -> str:
    """The id of the row in a table of the page; that of its question if the table left it out."""
    of_row = anchor(row.question, series_key(row))
    return of_row if of_row in shown else row.question


def _templates() -> Environment:
    templates = html_templates(Path(__file__).with_name("templates"))
    templates.filters |= {"number": number, "quantity": quantity, "exact": "{:.10g}".format}
    templates.filters |= {"duration": duration, "percent": _percent}
    templates.globals |= {"spread": spread}
    return templates


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")
