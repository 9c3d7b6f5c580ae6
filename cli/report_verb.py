"""The verb that writes the architects' report: report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import json_option
from cli.output import emit, line
from core.errors import Refused

if TYPE_CHECKING:
    from flows.report.write_report import ReportFiles

STUDY_FOLDER = Path(".study")


@click.command()
@click.option(
    "--study",
    type=click.Path(path_type=Path),
    help="Folder or file of a study (default: .study, else the study that comes with the project).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".report"),
    show_default=True,
    help="Folder of the report.",
)
@json_option
def report(study: Path | None, out: Path) -> None:
    """Write a study's report: a page, plots and raw rows.

    The page answers five cases for architects, each with the measured row that decides it. Then come plots, every
    question with its numbers, and what was not measured. docs/report.md says how to read it.
    """
    from flows.report import write_report
    from infra import measurement_files, project_files, study_origin

    source = study or (STUDY_FOLDER if STUDY_FOLDER.is_dir() else project_files.STUDY)
    if not source.exists():
        raise Refused("there is no study", where=str(source), fix="run `lk study`")
    rows = source / "rows" if source.is_dir() else source  # beside them is the data of an instance that still runs
    emit(write_report.report(measurement_files.read(rows), out, study_origin.read(source)), _print_files)


def _print_files(files: ReportFiles) -> None:
    for recommendation in files.recommendations:
        line(f"{recommendation.case.title}: {recommendation.sentence}")
    for path in (files.page, files.parquet, files.csv, *files.plots):
        line(f"wrote {path}")


COMMANDS = [report]
