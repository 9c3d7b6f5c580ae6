"""What terraform/modules/airflow must share with dags/: an Airflow that can import them, and the pool that they use."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from infra.local import airflow_server
from infra.project_files import DAGS, ROOT
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


def pool() -> str:
    """The pool of the tasks that change what is served."""
    return only(r'^POOL = "(\w+)"', DAGS / "lk_operators.py")


def run_startup(folder: Path, component: str, exit_code: int) -> tuple[str, list[list[str]]]:
    """What the startup script of a machine exports and prints, and the words of each call of `airflow` there.

    Python, which would read S3, does nothing here.
    """
    text = (MODULE / "startup.sh.tftpl").read_text("utf-8").replace("/usr/local/airflow", str(folder))
    script = folder / "startup.sh"
    script.write_text(re.sub(r"\$\{\w+\}", "rendered", text).replace("$${", "${"), "utf-8")
    calls = folder / "calls"
    calls.touch()
    for name, code in (
        ("airflow", f"printf '%s\\t' \"$@\" >> {calls}; echo >> {calls}; exit {exit_code}"),
        ("python3", ""),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{code}\n", "utf-8")
        (folder / name).chmod(0o755)
    env = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "MWAA_AIRFLOW_COMPONENT": component}
    completed = subprocess.run(
        ["bash", "-c", f". {script} && echo $LK_CONFIG"], env=env, capture_output=True, text=True, check=True
    )
    lines = calls.read_text("utf-8").splitlines()
    return completed.stdout + completed.stderr, [line.split("\t")[:-1] for line in lines]


def test_the_scheduler_makes_the_pool_of_publications(tmp_path: Path) -> None:
    printed, calls = run_startup(tmp_path, "scheduler", 0)
    assert printed == f"{tmp_path}/lk/lk.toml\n"
    assert [call[:4] for call in calls] == [["pools", "set", pool(), "1"]]


@pytest.mark.parametrize("component", ["worker", "webserver"])
def test_no_other_machine_makes_it(tmp_path: Path, component: str) -> None:
    assert run_startup(tmp_path, component, 0) == (f"{tmp_path}/lk/lk.toml\n", [])


def test_a_pool_that_cannot_be_made_is_told_and_stops_no_scheduler(tmp_path: Path) -> None:
    printed, _ = run_startup(tmp_path, "scheduler", 1)
    assert f"{tmp_path}/lk/lk.toml\n" in printed
    assert f"no pool {pool()}" in printed


def test_everything_names_the_same_pool() -> None:
    assert pool() == airflow_server.POOL
    for page in (ROOT / "docs" / "airflow.md", TERRAFORM / "README.md"):
        assert f"airflow pools set {pool()} 1 " in page.read_text("utf-8")
