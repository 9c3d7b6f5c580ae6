"""How every plot looks: a colour, a shape and a dash for each mode, and colours that a page can darken.

Each role has a colour of its own, so that style rules can replace it by its value.
"""

from __future__ import annotations

from typing import Any

import altair as alt

INK, FAINT, GRID, PAPER = "#23272d", "#5c646e", "#e4e6e9", "#fffffe"
LAMBDA, KAPPA, BOTH = "#0b5fa5", "#b8430a", "#6d7278"
DARK = {
    INK: "#e7e9ec",
    FAINT: "#a4abb3",
    GRID: "#343a41",
    PAPER: "#16191d",
    LAMBDA: "#6fb3f2",
    KAPPA: "#f5a05f",
    BOTH: "#9ca3ab",
}
LABELS = {"lambda": "Lambda", "kappa": "Kappa", "": "both modes"}
ORDER = tuple(LABELS.values())
WIDTH = 620
FONT = "system-ui, sans-serif"
_PADDING = {"left": 16, "top": 4, "right": 12, "bottom": 4}  # a page's font may be wider than the converter's
_LEGEND = alt.Legend(title=None, symbolOpacity=1, symbolStrokeWidth=0)
_LEGEND_OF_LINES = alt.Legend(title=None, symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=2)


def rules() -> str:
    """Style rules that give every plot the dark colours on a dark screen, never on paper."""
    pairs = [
        f'svg [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    ]
    return f"@media screen and (prefers-color-scheme:dark){{{''.join(pairs)}}}"


def colour(labels: list[str], *, of_lines: bool = False) -> alt.Color:
    """Colour by the column ``mode``, for the labels that occur. ``of_lines`` is for plots without marks."""
    return alt.Color(
        "mode:N", scale=_scale(labels, (LAMBDA, KAPPA, BOTH)), legend=_LEGEND_OF_LINES if of_lines else _LEGEND
    )


def shape(labels: list[str]) -> alt.Shape:
    """Shape by the column ``mode``: a circle, a diamond, a square."""
    return alt.Shape("mode:N", scale=_scale(labels, ("circle", "diamond", "square")), legend=_LEGEND)


def dash(labels: list[str], *, of_lines: bool = False) -> alt.StrokeDash:
    """Dash by the column ``mode``: solid, dashed, dotted. ``of_lines`` is for plots without marks."""
    scale = _scale(labels, ([1, 0], [6, 3], [2, 2]))
    return alt.StrokeDash("mode:N", scale=scale, legend=_LEGEND_OF_LINES if of_lines else None)


def configured(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification of a chart with the common look."""
    axis = {"labelColor": FAINT, "titleColor": FAINT, "titleFontWeight": "normal", "tickColor": GRID, "labelFont": FONT}
    return dict(
        chart.configure(background=PAPER, font=FONT, aria=False, padding=_PADDING)
        .configure_view(stroke=None)
        .configure_axis(**axis, titleFont=FONT, gridColor=GRID, domainColor=GRID, labelFontSize=11, titleFontSize=11)
        .configure_header(labelColor=INK, titleColor=INK, labelFont=FONT, labelFontSize=12, labelFontWeight="bold")
        .configure_legend(labelColor=INK, labelFont=FONT, labelFontSize=12, orient="top", symbolSize=90, offset=4)
        .configure_title(color=INK, font=FONT, fontSize=12, anchor="start", frame="group", fontWeight="bold")
        .to_dict()
    )


def _scale(labels: list[str], values: tuple[Any, ...]) -> alt.Scale:
    by_label = dict(zip(ORDER, values, strict=True))
    present = [label for label in ORDER if label in labels]
    return alt.Scale(domain=present, range=[by_label[label] for label in present])
