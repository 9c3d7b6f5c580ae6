"""The wheel, installed into its own environment and run in an empty folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from infra.project_files import ACCESS_LOG, COMMITTED_STUDY, ROOT
from tests.support.command import environment
from tests.support.wheel import Installed, installed

PACKAGES = ("cli", "core", "infra", "batch", "speed", "serving", "flows", "views")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
def test_lk_runs_outside_the_clone(wheel: Installed) -> None:
    assert "Usage: lk [OPTIONS] COMMAND [ARGS]..." in wheel.lk("--help").ok().out
    assert {"trade_stats", "traffic_by_path"} <= set(wheel.lk("views", "--json").ok().json["views"])
    wheel.lk("views", "check").ok()
    assert wheel.lk("--version").ok().out == "lk 0.1.0\n"


def test_every_file_of_the_project_is_installed_and_found_there(wheel: Installed) -> None:
    program = """
import json
from infra import project_files
paths = (project_files.ROOT, project_files.DAGS, project_files.RUNBOOKS, project_files.ACCESS_LOG,
         project_files.COMMITTED_STUDY)
print(json.dumps(list(map(str, paths))))
"""
    completed = subprocess.run(
        [wheel.python, "-c", program], cwd=wheel.folder, env=environment(), capture_output=True, text=True, check=True
    )
    root, dags, runbooks, log, study = map(Path, json.loads(completed.stdout))
    assert root == wheel.packages
    for folder in PACKAGES:
        assert files(ROOT / folder) <= files(root / folder)
    assert files(dags) == files(ROOT / "dags")
    assert files(runbooks) == files(ROOT / "docs" / "runbooks")
    assert (log.read_bytes(), log.parent) == (ACCESS_LOG.read_bytes(), root / "infra" / "bundled" / "data")
    assert (study.read_bytes(), root in study.parents) == (COMMITTED_STUDY.read_bytes(), True)


def files(folder: Path) -> set[str]:
    """The files below a folder, without compiled Python files."""
    paths = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {str(path) for path in paths if "__pycache__" not in path.parts}


def test_lk_runs_without_package_metadata_as_in_the_jobs_image(wheel: Installed) -> None:
    program = """
import importlib.metadata

def version(name):
    raise importlib.metadata.PackageNotFoundError(name)

importlib.metadata.version = version
from cli.root import run
raise SystemExit(run(["views", "--json"]))
"""
    completed = subprocess.run([wheel.python, "-c", program], cwd=wheel.folder, env=environment(), capture_output=True)
    assert (completed.returncode, completed.stderr) == (0, b"")
