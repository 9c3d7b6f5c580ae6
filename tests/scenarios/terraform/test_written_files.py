"""Generated parts of documents are current: tables of inputs and outputs, and costs."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal

import pytest

from infra.project_files import ROOT
from infra.settings import Settings
from tests.support.servers.terraform_availability import CLOUD, TERRAFORM, missing_checkov


@pytest.mark.skipif(missing_checkov() is not None, reason=f"not run, python-hcl2 comes with it: {missing_checkov()}")
def test_the_tables_of_inputs_and_outputs_are_current() -> None:
    readmes = [TERRAFORM / "README.md", *sorted(TERRAFORM.glob("modules/*/README.md"))]
    assert len(readmes) == 9
    process = subprocess.run(
        [CLOUD / "python", TERRAFORM / "readme_tables.py", "--check"], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "| `brokers` |" in (TERRAFORM / "modules" / "msk" / "README.md").read_text("utf-8")


def test_the_costs_are_current() -> None:
    process = subprocess.run([sys.executable, TERRAFORM / "costs.py", "--check"], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr


def test_every_cost_is_price_times_quantity_and_every_sum_adds_up() -> None:
    """Computes the numbers of the page again and allows for its rounding."""
    page = (ROOT / "docs" / "deploy" / "cloud.md").read_text("utf-8")
    tables = re.findall(r"\n\*\*(dev|prod)\*\*.*?\n\n(.*?)\| \*\*sum\*\* .*?\*\*([\d,]+)\*\*", page, re.S)
    assert [name for name, _, _ in tables] == ["dev", "prod"]
    for name, table_rows, total in tables:
        matches = re.findall(r"^\| .+? \| .+? \| ([\d.]+) \| .+? \| ([\d,]+) \| ([\d,]+) \|$", table_rows, re.M)
        assert len(matches) == {"dev": 19, "prod": 20}[name]  # production has a locked copy of the archive
        cells = [tuple(Decimal(cell.replace(",", "")) for cell in row) for row in matches]
        assert [row for row in cells if abs(row[0] * row[1] - row[2]) > Decimal("0.5") + row[0] / 2] == []
        assert sum(row[2] for row in cells) == Decimal(total.replace(",", ""))


def test_lk_knows_every_setting_that_terraform_writes() -> None:
    written = re.findall(r"^(\w+) = ", (TERRAFORM / "lk.toml.tftpl").read_text("utf-8"), re.M)
    assert {"bootstrap", "lake", "trino_host"} <= set(written)
    assert [name for name in written if name not in Settings.model_fields] == []
