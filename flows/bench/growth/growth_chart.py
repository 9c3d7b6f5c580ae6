"""The plot of `lk bench growth`: one panel for each thing that varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from flows.bench.growth import growth_figures
from flows.bench.growth.growth_cases import LABELS, VALUES
from flows.measure.figures import Figure
from flows.report import svg
from flows.report.chart_style import KAPPA

_COLUMNS, _WIDTH, _HEIGHT = 3, 190, 130


def drawn(figures: Sequence[Figure]) -> str:
    """The SVG of the figures; "" if they are others than those of growth."""
    medians = {figure.name: figure.median for figure in figures}
    rows = [
        {"panel": LABELS[dimension], "value": value, "rate": medians[growth_figures.name(dimension, value)]}
        for dimension, values in VALUES.items()
        for value in values
        if growth_figures.name(dimension, value) in medians
    ]
    return svg.drawn("growth", _chart(rows), _words(rows)) if rows else ""


def _chart(rows: Sequence[dict[str, object]]) -> Any:
    frame = pd.DataFrame(rows)
    highest = float(frame["rate"].max())
    panels = [_panel(frame[frame["panel"] == label], label, highest) for label in frame["panel"].unique()]
    return alt.concat(*panels, columns=_COLUMNS)


def _panel(frame: pd.DataFrame, label: str, highest: float) -> Any:
    values = sorted(frame["value"])
    scale = alt.Scale(type="log", domain=[values[0], values[-1]])
    x = alt.X("value:Q", title=label, scale=scale, axis=alt.Axis(values=values, format="~s", grid=False))
    rates = alt.Scale(domain=[0, highest])
    y = alt.Y("rate:Q", title="records/s", scale=rates, axis=alt.Axis(format="~s", tickCount=4))
    lines = alt.Chart(frame).mark_line(point=alt.OverlayMarkDef(color=KAPPA), color=KAPPA).encode(x=x, y=y)
    return lines.properties(width=_WIDTH, height=_HEIGHT)


def _words(rows: Sequence[dict[str, object]]) -> str:
    """The points as text, for people who cannot see the plot."""
    return "Records replayed a second. " + "; ".join(f"{r['panel']} {r['value']:,}: {r['rate']:,.0f}" for r in rows)
