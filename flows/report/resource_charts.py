"""Charts of costs: a correction by the size of its history, resources by part, recovery by crash."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from core.evidence.cases import BY_CASE, Criterion
from core.evidence.coefficients import Line
from core.evidence.comparison import belongs, parts_of
from core.evidence.measurement import MODES, Measurement
from core.evidence.quantity import number
from core.evidence.questions import BY_ID
from core.evidence.summary import Summary, summarize
from flows.report.chart_style import INK, LABELS, WIDTH, colour, dash, shape
from flows.report.time_charts import Chart, by_place, named, words

_HALF = (WIDTH - 70) // 2


def cost_by_history(rows: Sequence[Measurement]) -> Chart | None:
    """Seconds and CPU seconds of a correction of the whole history against its size, with fitted lines."""
    time, cpu = BY_CASE["rules-change"].criteria
    panels, texts = [], []
    for criterion, title in ((time, "seconds"), (cpu, "CPU seconds")):
        points = {mode: _points(criterion, mode, rows) for mode in MODES}
        if any(points.values()):
            fitted = {mode: _fitted(of_mode) for mode, of_mode in points.items()}
            panels.append(_against_size(points, fitted, title))
            texts += [f"{title} in {LABELS[mode]}: {_as_sum(line)}" for mode, line in fitted.items() if line]
    return (alt.hconcat(*panels, spacing=30), "; ".join(texts) + ".") if panels else None


def resources_by_part(rows: Sequence[Measurement]) -> Chart:
    """One panel for each question, a row for each part; at the largest size of the question."""
    by_question: dict[str, list[Summary]] = defaultdict(list)
    for row in summarize(rows):
        by_question[row.question].append(row)
    largest = {
        question: [row for row in of_question if row.size == max(each.size for each in of_question)]
        for question, of_question in by_question.items()
    }
    panels = [_parts(question, summaries) for question, summaries in largest.items()]
    texts = [words(summaries, BY_ID[question].unit) for question, summaries in largest.items()]
    return alt.vconcat(*panels, spacing=22).resolve_scale(y="independent"), " ".join(texts)


def recovery_times(rows: Sequence[Measurement]) -> Chart:
    """A row for each crash, a mark for each repetition, a stroke for their median."""
    summaries = summarize(rows)
    frame = pd.DataFrame([{**named(row), "seconds": row.value} for row in rows])
    medians = pd.DataFrame([{**named(row), "seconds": row.median} for row in summaries])
    labels = list(frame["mode"].unique())
    where = by_place()
    seconds = alt.X("seconds:Q", title="seconds until everything is read", scale=alt.Scale(zero=True))
    marks = (
        alt.Chart(frame)
        .mark_point(filled=True, size=36, opacity=0.7)
        .encode(seconds, **where, color=colour(labels), shape=shape(labels))
    )
    strokes = alt.Chart(medians).mark_tick(thickness=2, size=14, color=INK).encode(seconds, **where)
    return alt.layer(marks, strokes).properties(width=WIDTH, height=alt.Step(16)), words(summaries, "s")


def _points(criterion: Criterion, mode: str, rows: Sequence[Measurement]) -> list[tuple[int, float]]:
    """Size and value of each repetition that measured all parts. A value per million is multiplied by the records."""
    parts = parts_of(criterion, mode, rows)
    runs: dict[tuple[int, int], list[float]] = defaultdict(list)
    for part in parts:
        for row in rows:
            if row.size and belongs(row, criterion, mode, part):
                millions = row.size / 1e6 if BY_ID[row.question].unit.endswith("per million") else 1
                runs[row.size, row.repetition].append(part.factor * row.value * millions)
    whole = [(size, sum(values)) for (size, _), values in runs.items() if len(values) == len(parts)]
    return sorted((size, value) for size, value in whole if value > 0)  # the axes are logarithmic


def _fitted(points: Sequence[tuple[int, float]]) -> Line | None:
    """The line through the medians of two sizes or more."""
    by_size: dict[float, list[float]] = defaultdict(list)
    for size, value in points:
        by_size[size / 1e6].append(value)
    return (
        Line.through({millions: median(values) for millions, values in by_size.items()}) if len(by_size) > 1 else None
    )


def _as_sum(line: Line) -> str:
    return f"{number(line.fixed)} s + {number(line.per_million)} s per million"


def _against_size(
    points: Mapping[str, Sequence[tuple[int, float]]], fitted: Mapping[str, Line | None], title: str
) -> Any:
    marks = [(LABELS[mode], size, value) for mode, of_mode in points.items() for size, value in of_mode]
    frame = pd.DataFrame(marks, columns=["mode", "records", "value"])
    sizes = np.geomspace(frame["records"].min(), frame["records"].max(), 40)
    curves = [
        (LABELS[mode], float(size), line.at(float(size) / 1e6))
        for mode, line in fitted.items()
        if line
        for size in sizes
    ]
    lines = pd.DataFrame([each for each in curves if each[2] > 0], columns=["mode", "records", "value"])
    labels = list(frame["mode"].unique())
    x = alt.X(
        "records:Q",
        title="records of history",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~s", values=sorted(frame["records"].unique())),
    )
    y = alt.Y(
        "value:Q",
        title=title,
        scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(format=",~f", values=_round_numbers(frame["value"])),
    )
    dots = (
        alt.Chart(frame)
        .mark_point(filled=True, size=42, opacity=0.7)
        .encode(x, y, color=colour(labels), shape=shape(labels))
    )
    line = alt.Chart(lines).mark_line(strokeWidth=1.8).encode(x, y, color=colour(labels), strokeDash=dash(labels))
    return alt.layer(line, dots).properties(width=_HALF, height=200)


def _round_numbers(values: Iterable[float]) -> list[float]:
    """1, 2 and 5 times the powers of ten from below the smallest to above the largest value."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [digit * 10.0**power for power in range(low, high + 1) for digit in (1, 2, 5)]


def _parts(question: str, summaries: Sequence[Summary]) -> Any:
    studied = BY_ID[question]
    frame = pd.DataFrame([{**named(row), "value": row.median} for row in summaries])
    labels = list(frame["mode"].unique())
    where = by_place()
    value = alt.X("value:Q", title=studied.unit, axis=alt.Axis(format=",~f", tickCount=5))
    stems = (
        alt.Chart(frame)
        .mark_rule(strokeWidth=2)
        .encode(value, x2=alt.datum(0), **where, color=colour(labels), strokeDash=dash(labels))
    )
    heads = (
        alt.Chart(frame)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(value, **where, color=colour(labels), shape=shape(labels))
    )
    return alt.layer(stems, heads).properties(width=WIDTH, height=alt.Step(14), title=studied.text)
