"""What terraform/modules/airflow must share with dags/: an Airflow that can import them, and the pool that they use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra.project_files import ROOT
from tests.support.servers.terraform_availability import TERRAFORM

MODULE = TERRAFORM / "modules" / "airflow"
DEFAULTS = (TERRAFORM / "variables.tf", MODULE / "variables.tf")
COMPLETE = TERRAFORM / "examples" / "complete" / "main.tf"


def only(pattern: str, path: Path) -> str:
    """What the only match of a pattern in a file captures."""
    [match] = re.findall(pattern, path.read_text("utf-8"), re.M | re.S)
    return str(match)


@pytest.mark.parametrize("path", DEFAULTS, ids=["root", "module"])
def test_the_default_is_the_airflow_that_the_dags_are_tested_with(path: Path) -> None:
    locked = only(r"^apache-airflow==(\S+)", ROOT / "requirements-airflow.lock")
    assert only(r'^variable "airflow_version" \{[^}]*?default += "([^"]+)"', path) == locked
    assert only(r'airflow_version += "([^"]+)"', COMPLETE) == locked


@pytest.mark.parametrize(
    ("version", "is_valid"),
    [
        *(("3.2.0", True), ("3.3.2", True), ("3.10.1", True), ("3.20.0", True)),
        *(("2.10.3", False), ("3.0.6", False), ("3.1.8", False), ("4.2.0", False), ("3.2", False)),
    ],
)
def test_only_an_airflow_that_can_import_the_dags_is_valid(version: str, is_valid: bool) -> None:
    pattern = only(r'can\(regex\("([^"]+)", var\.airflow_version\)\)', MODULE / "variables.tf")
    assert bool(re.search(pattern.replace("\\\\", "\\"), version)) == is_valid
