"""Writes the example of docs/plan.md from the planted study: `python -m tests.support.examples.plan_page`."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from core.evidence.workload import Prices, Workload
from flows.plan.plan_tables import show
from flows.plan.run_plan import run_plan
from infra import measurement_files
from infra.project_files import ROOT
from tests.support.examples.planted_study import planted

PAGE = ROOT / "docs" / "plan.md"
BEGIN, END = "<!-- example: written by tests/support/examples/plan_page.py -->", "<!-- /example -->"


def page() -> str:
    """The page with the output of the planner of today."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n\n```\n$ lk plan --study study\n{_example()}```\n\n{END}{rest.split(END)[1]}"


def _example() -> str:
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        measurement_files.write(Path("study/rows/planted.parquet"), planted())
        show(run_plan(Workload(), Prices(), Path("study")))
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().rstrip().splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
