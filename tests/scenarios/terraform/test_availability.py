"""A missing terraform is reported. A provider is found by its folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.project_files import ROOT
from tests.support.servers.terraform_availability import PROVIDER, plugins, version


def test_tests_that_are_not_run_are_reported(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tests.support.servers.terraform_availability"],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        process.stdout
        == "NOT RUN: tests/scenarios/terraform (terraform was not found in PATH: install 1.11 or newer)\n"
    )


def test_a_named_folder_of_providers_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / PROVIDER / version()).mkdir(parents=True)
    monkeypatch.setenv("TF_PLUGIN_DIR", str(tmp_path))
    assert plugins() == tmp_path


def test_a_folder_with_another_version_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / PROVIDER / "1.0.0").mkdir(parents=True)
    monkeypatch.setenv("TF_PLUGIN_DIR", str(tmp_path))
    assert plugins() != tmp_path
