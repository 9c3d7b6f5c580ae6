"""The plots of the report, each with its caption and its alternative text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.evidence.measurement import Measurement
from core.evidence.questions import BY_ID
from flows.report import svg
from flows.report.resource_charts import cost_by_history, recovery_times, resources_by_part
from flows.report.time_charts import answers_across_a_change, freshness_ranges, lag_under_overload, settling_curve


@dataclass(frozen=True)
class PlotSpec:
    """A plot to draw. ``draw`` takes the rows of ``questions`` and returns a chart and what it shows in words,
    or None if they are no rows for it."""

    id: str
    title: str
    questions: tuple[str, ...]
    caption: str
    draw: Callable[[Sequence[Measurement]], tuple[Any, str] | None]

    @property
    def sections(self) -> tuple[str, ...]:
        """The sections of the study that measure it."""
        return tuple(dict.fromkeys(BY_ID[question].section for question in self.questions))


@dataclass(frozen=True)
class Plot:
    """A plot that was drawn; ``svg`` is "" if nothing was measured for it."""

    spec: PlotSpec
    svg: str


SPECS = (
    PlotSpec(
        "freshness-plot",
        "How fresh answers are, and beside what",
        ("freshness",),
        "Each line runs from the 50th to the 99th percentile of an event's time until a query counts it; the marks are "
        "the 50th, 95th and 99th, medians of the repetitions. Faint marks are single repetitions.",
        freshness_ranges,
    ),
    PlotSpec(
        "settling-plot",
        "How much of the final answer a window shows, by its age",
        ("settling",),
        "The line is the median of the repetitions, the band their spread. At 100 % nothing is missing any more; late "
        "events arrive after their window ended.",
        settling_curve,
    ),
    PlotSpec(
        "history-plot",
        "What a correction of the whole history costs, by its size",
        ("correction", "cpu"),
        "Marks are repetitions. The line is fitted by least squares: a fixed part, and one for each million records.",
        cost_by_history,
    ),
    PlotSpec(
        "answers-plot",
        "What readers see across a change",
        ("answers",),
        "One mark for each answer of the first repetition at the largest size: when it arrived, how long it took, "
        "which mode answered. The vertical line is the change.",
        answers_across_a_change,
    ),
    PlotSpec(
        "resources-plot",
        "What each part of a mode uses",
        ("cpu", "cpu-live", "written", "disk", "memory"),
        "Medians at the largest size of each question. A part that only one mode has is there once.",
        resources_by_part,
    ),
    PlotSpec(
        "lag-plot",
        "Records that wait while a producer sends as fast as it can",
        ("lag",),
        "One line for each repetition.",
        lag_under_overload,
    ),
    PlotSpec(
        "recovery-plot",
        "How long until everything is read again after a crash, by its place",
        ("recovery",),
        "Marks are repetitions, the stroke is their median.",
        recovery_times,
    ),
)


def plots(measurements: Sequence[Measurement]) -> list[Plot]:
    """Every plot of SPECS, in their order."""
    return [_plot(spec, [row for row in measurements if row.question in spec.questions]) for spec in SPECS]


def _plot(spec: PlotSpec, rows: Sequence[Measurement]) -> Plot:
    drawing = spec.draw(rows) if rows else None
    if drawing is None:
        return Plot(spec, "")
    chart, words = drawing
    return Plot(spec, svg.drawn(spec.id, chart, f"{spec.title}. {words}"))
