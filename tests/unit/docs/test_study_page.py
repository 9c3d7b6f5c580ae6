"""docs/report is what `lk report` writes from its own rows."""

from __future__ import annotations

import re
from pathlib import Path

from flows.report.write_report import report
from infra import study_files
from infra.project_files import ROOT

PAGE = ROOT / "docs" / "report"
STUDY = PAGE / "raw.parquet"


def words(file: Path) -> str:
    """The text without what the fonts of a machine decide: of a plot, its alternative text, which has its numbers."""
    return re.sub(r"(<svg[^>]*)>.*?</svg>", lambda plot: label(plot[1]), file.read_text("utf-8"), flags=re.DOTALL)


def label(svg: str) -> str:
    (text,) = re.findall(r'aria-label="([^"]*)"', svg)
    return str(text)


def test_the_committed_page_is_that_of_the_committed_rows(tmp_path: Path) -> None:
    """`make docs` writes it."""
    rows = study_files.read_rows(STUDY)
    report(rows, tmp_path, study_files.read_origin(STUDY))
    texts = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.*") if path.suffix != ".parquet")
    committed = sorted(path.relative_to(PAGE) for path in PAGE.rglob("*.*") if path.suffix not in (".parquet", ".json"))
    assert texts == committed
    assert [str(text) for text in texts if words(PAGE / text) != words(tmp_path / text)] == []


def test_its_rows_have_an_origin() -> None:
    origin = study_files.read_origin(STUDY)
    assert "2 cores" in origin.machine
    assert "pyspark" in origin.versions
    assert origin.command.startswith("lk study ")
