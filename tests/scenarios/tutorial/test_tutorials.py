"""Every tutorial page works as printed in a fresh clone, and the notebook draws its three plots."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import nbformat
import pytest
from nbclient import NotebookClient

from infra import measurement_files
from infra.local.ports import free_ports
from infra.project_files import ROOT
from tests.support.examples import study_of_all_questions
from tests.support.examples.tutorial_pages import Shell, clone, run_page
from tests.support.suite.machine_speed import patient

PAGES = ROOT / "docs" / "tutorial"
TRINO_OF_THE_PAGES = "18080"
PORTS = ("LK_KAFKA_PORT", "LK_KAFKA_CONTROLLER_PORT", "LK_TRINO_PORT", "LK_AIRFLOW_PORT", "LK_UI_PORT")

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture
def ports() -> dict[str, str]:
    """Free ports, as environment variables."""
    return dict(zip(PORTS, map(str, free_ports(len(PORTS))), strict=True))


@pytest.fixture
def shell(tmp_path: Path, ports: dict[str, str]) -> Iterator[Shell]:
    """A shell in a fresh clone with a data folder and ports of its own."""
    with clone(tmp_path, ports) as opened:
        yield opened


def run(name: str, shell: Shell, ports: dict[str, str]) -> int:
    page = (PAGES / name).read_text("utf-8")
    return run_page(page, shell, {TRINO_OF_THE_PAGES: ports["LK_TRINO_PORT"]})


def test_your_own_topic_takes_less_than_ten_minutes(shell: Shell, ports: dict[str, str]) -> None:
    began = time.monotonic()
    assert run("your-own-topic.md", shell, ports) >= 30
    assert time.monotonic() - began < patient(600)


def test_operators(shell: Shell, ports: dict[str, str]) -> None:
    assert run("operators.md", shell, ports) >= 30


def test_architects(shell: Shell, ports: dict[str, str]) -> None:
    """The page reads rows that nobody measured."""
    measurement_files.write(shell.folder / ".study" / "rows" / "planted.parquet", study_of_all_questions.study())
    assert run("architects.md", shell, ports) == 4


def test_analysts_and_the_notebook(shell: Shell, ports: dict[str, str]) -> None:
    assert run("analysts.md", shell, ports) >= 20
    notebook = nbformat.read(shell.folder / "docs" / "tutorial" / "serving.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    with patch.dict(os.environ, ports):
        NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    plots = [output["data"]["image/svg+xml"] for output in outputs if "data" in output]
    titles = ("Requests per hour, by class of HTTP status", "The ten paths with the most errors", "Prices of the day")
    assert [title in plot for title, plot in zip(titles, plots, strict=True)] == [True, True, True]
    traffic, paths, prices = (re.findall(r">([^<>]+)</text>", plot) for plot in plots)
    assert {"2xx", "3xx", "4xx", "5xx"} <= set(traffic)
    assert plots[1].count('aria-roledescription="bar"') == 10
    assert "/wp-login.php" in paths
    assert {"AAPL", "WMT"} <= set(prices)
    if os.environ.get("LK_DOCS_IMAGES"):  # `make docs-images` keeps the plots in the notebook, for those who only look
        nbformat.write(notebook, PAGES / "serving.ipynb")  # type: ignore[no-untyped-call]


def test_the_pages_have_the_ports_that_are_replaced() -> None:
    """Without this the analysts' programs would ask another instance."""
    assert TRINO_OF_THE_PAGES in (PAGES / "analysts.md").read_text("utf-8")
