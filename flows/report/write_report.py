"""`lk report`: writes the page, its plots and its raw rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from core.errors import Refused
from core.evidence.measurement import Measurement
from core.evidence.origin import Origin
from core.evidence.questions import BY_ID
from core.evidence.recommendations import Recommendation, recommend
from flows.report import page
from flows.report.plots import plots
from infra import measurement_files

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of a formula
_NOT_RECORDED = Origin()


@dataclass(frozen=True)
class ReportFiles:
    """The files that were written, and the answers for the five cases."""

    page: Path
    parquet: Path
    csv: Path
    plots: tuple[Path, ...]
    recommendations: tuple[Recommendation, ...]


def report(measurements: Sequence[Measurement], folder: Path, origin: Origin = _NOT_RECORDED) -> ReportFiles:
    """Writes report.html, raw.parquet, raw.csv and plots/*.svg into ``folder``; each file is replaced as a whole.

    Raises Refused without measurements, for a question that this program does not know, and for a text that a
    spreadsheet would run as a formula.
    """
    _check(measurements)
    recommendations = recommend(measurements)
    drawn = plots(measurements)
    text = page.render(measurements, recommendations, drawn, origin)
    files = ReportFiles(
        folder / "report.html",
        folder / "raw.parquet",
        folder / "raw.csv",
        tuple(folder / "plots" / f"{plot.spec.id}.svg" for plot in drawn if plot.svg),
        tuple(recommendations),
    )
    measurement_files.write(files.parquet, measurements)
    _write(files.csv, _csv(measurements))
    for path, plot in zip(files.plots, (plot for plot in drawn if plot.svg), strict=True):
        _write(path, plot.svg)
    _write(files.page, text)
    return files


def _check(measurements: Sequence[Measurement]) -> None:
    if not measurements:
        raise Refused("nothing was measured", fix="run `lk study`")
    for row in measurements:
        if row.question not in BY_ID:
            raise Refused(
                f"question {row.question} is not one of this program", fix="use the program that wrote the study"
            )
        for text in (row.mode, row.situation, row.part, row.view):
            if text.startswith(_FORMULA):
                raise Refused(
                    f"a spreadsheet would take the text {text!r} for a formula",
                    where=f"question {row.question}",
                    fix="measure again with `lk study`: the study writes no such text",
                )


def _csv(measurements: Sequence[Measurement]) -> str:
    """The rows with a header; times are in UTC, an absent x is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Measurement)], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**asdict(row), "at": row.at.isoformat()} for row in measurements)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, "utf-8")
    part.replace(path)
