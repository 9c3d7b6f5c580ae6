"""The verb that writes the architects' report: report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import json_option, study_option
from cli.output import emit, line

if TYPE_CHECKING:
    from flows.report.write_report import ReportFiles


@click.command()
@study_option(".study")
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
    question with its numbers, and what was not measured. docs/tutorial/architects.md says how to read it.
    """
    from flows.report import write_report
    from infra import study_files

    source = study or study_files.FOLDER
    files = write_report.report(study_files.read_rows(source), out, study_files.read_origin(source))
    emit(files, _print_files)


def _print_files(files: ReportFiles) -> None:
    for recommendation in files.recommendations:
        line(f"{recommendation.case.title}: {recommendation.sentence}")
    for path in (files.page, files.parquet, files.csv, *files.plots):
        line(f"wrote {path}")


COMMANDS = [report]
