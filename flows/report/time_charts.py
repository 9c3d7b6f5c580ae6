"""Charts with time on an axis: freshness, settling, answers across a change, lag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.evidence.measurement import Measurement
from core.evidence.quantity import number, quantity
from core.evidence.summary import Summary, in_short, summarize
from flows.report.chart_style import FAINT, LABELS, WIDTH, colour, dash, shape

Chart = tuple[Any, str]


def place(row: Measurement | Summary) -> str:
    """Situation, part and view of a row as one label."""
    return " · ".join(text for text in (row.situation, row.part, row.view) if text) or "all"


def named(row: Measurement | Summary) -> dict[str, str]:
    """The columns of a frame that tell rows apart: ``mode`` and ``place``."""
    return {"mode": LABELS[row.mode], "place": place(row)}


def by_place() -> dict[str, Any]:
    """Encodings of a chart with a line for each place, in the order of its rows, and the modes side by side in it."""
    axis = alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=260)
    return {"y": alt.Y("place:N", sort=None, axis=axis), "yOffset": alt.YOffset("mode:N", sort=None)}


def words(summaries: Iterable[Summary], unit: str) -> str:
    """Medians as a sentence for people who cannot see a plot."""
    texts = [
        f"{LABELS[row.mode]}, {place(row)}{'' if row.x is None else f' {row.x:g}'}: {quantity(row.median, unit)}"
        for row in summaries
    ]
    return "; ".join(texts) + "."


def freshness_ranges(rows: Sequence[Measurement]) -> Chart:
    """A line from the smallest to the largest percentile for each mode and situation."""
    summaries = summarize(rows)
    medians = pd.DataFrame([{**named(row), "x": row.x, "seconds": row.median} for row in summaries])
    single = pd.DataFrame([{**named(row), "seconds": row.value} for row in rows])
    labels = list(medians["mode"].unique())
    seconds = alt.X("seconds:Q", title="seconds from sending to counted", scale=alt.Scale(zero=True))
    base = by_place()
    ranges = medians.groupby(["place", "mode"], sort=False)["seconds"].agg(["min", "max"]).reset_index()
    lines = (
        alt.Chart(ranges)
        .mark_rule(strokeWidth=2)
        .encode(**base, x=alt.X("min:Q"), x2="max:Q", color=colour(labels), strokeDash=dash(labels))
    )
    faint = (
        alt.Chart(single)
        .mark_point(filled=True, size=16, opacity=0.35)
        .encode(**base, x=seconds, color=colour(labels), shape=shape(labels))
    )
    marks = (
        alt.Chart(medians)
        .mark_point(filled=True, size=70, opacity=1)
        .encode(**base, x=seconds, color=colour(labels), shape=shape(labels))
    )
    return alt.layer(lines, faint, marks).properties(width=WIDTH, height=alt.Step(19)), words(summaries, "s")


def settling_curve(rows: Sequence[Measurement]) -> Chart:
    """The share of the final answer by age, one line for each mode and situation."""
    summaries = summarize(rows)
    frame = pd.DataFrame(
        [
            {**named(row), "age": row.x, "share": row.median, "low": row.smallest, "high": row.largest}
            for row in summaries
        ]
    )
    labels = list(frame["mode"].unique())
    x = alt.X("age:Q", title="seconds after the end of the window", scale=alt.Scale(nice=False))
    share = alt.Y("share:Q", title="share of the final count", axis=alt.Axis(format=".0%"))
    band = (
        alt.Chart(frame)
        .mark_area(opacity=0.15)
        .encode(x, y=alt.Y("low:Q"), y2="high:Q", color=colour(labels, of_lines=True), detail="place:N")
    )
    line = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2)
        .encode(x, share, color=colour(labels, of_lines=True), strokeDash=dash(labels, of_lines=True), detail="place:N")
    )
    ends = [row for row in summaries if row.x in (min(frame["age"]), max(frame["age"]))]
    return alt.layer(band, line).properties(width=WIDTH, height=240), words(ends, "share")


def answers_across_a_change(rows: Sequence[Measurement]) -> Chart:
    """A mark for each answer of the first repetition at the largest size; a panel for each change and mode."""
    shown = max((row.size, -row.repetition) for row in rows)
    first_repetition = [row for row in rows if (row.size, -row.repetition) == shown]
    frame = pd.DataFrame([{**named(row), "x": row.x, "seconds": row.value} for row in first_repetition])
    frame["panel"] = frame["place"] + ": " + frame["mode"] + " answers"
    labels = list(frame["mode"].unique())
    dots = (
        alt.Chart()
        .mark_point(filled=True, size=18, opacity=0.75)
        .encode(
            alt.X("x:Q", title="seconds since the change", scale=alt.Scale(nice=False)),
            alt.Y("seconds:Q", title="seconds", axis=alt.Axis(tickCount=4)),
            color=colour(labels),
            shape=shape(labels),
        )
    )
    change = alt.Chart().mark_rule(color=FAINT, strokeDash=[2, 3]).encode(x=alt.datum(0))
    panels = alt.layer(change, dots, data=frame).properties(width=WIDTH, height=80)
    row = alt.Row("panel:N", sort=list(frame["panel"].unique()), title=None, header=_ABOVE)
    return panels.facet(row=row, spacing=4), words(in_short(rows), "s")


def lag_under_overload(rows: Sequence[Measurement]) -> Chart:
    """A line for each mode and repetition."""
    frame = pd.DataFrame(
        [{**named(row), "x": row.x, "records": row.value, "line": f"{place(row)} {row.repetition}"} for row in rows]
    )
    labels = list(frame["mode"].unique())
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=1.3, opacity=0.8)
        .encode(
            alt.X("x:Q", title="seconds since the overload began", scale=alt.Scale(nice=False)),
            alt.Y("records:Q", title="records that wait", axis=alt.Axis(format="~s")),
            color=colour(labels, of_lines=True),
            strokeDash=dash(labels, of_lines=True),
            detail="line:N",
        )
    )
    highest = [f"{LABELS[row.mode]}: {number(row.largest)} records at most" for row in in_short(rows)]
    return lines.properties(width=WIDTH, height=200), "; ".join(highest) + "."


_ABOVE = alt.Header(labelOrient="top", labelAnchor="start", labelAngle=0, labelPadding=2)
