"""The wheel, installed into an environment of its own and run in an empty folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from infra.project_files import ROOT
from tests.support.command import environment
from tests.support.wheel import Installed, installed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(tmp_path_factory.mktemp("wheel"))


def test_lk_runs_outside_the_clone(wheel: Installed) -> None:
    assert "Usage: lk [OPTIONS] COMMAND [ARGS]..." in wheel.lk("--help").ok().out
    assert {"trade_stats", "traffic_by_path"} <= set(wheel.lk("views", "--json").ok().json["views"])
    wheel.lk("views", "check").ok()
    assert wheel.lk("--version").ok().out == "lk 0.1.0\n"


def test_the_code_is_the_wheels_and_every_file_that_it_needs_is_there(wheel: Installed) -> None:
    program = """
import json
from infra import project_files
from infra.runtime import jars_lock
from infra.spark import log_store
from infra.local import airflow_server
print(json.dumps([str(path) for path in (
    project_files.VIEWS / "programs" / "countries.csv", project_files.DAGS / ".airflowignore",
    project_files.DAGS / "lambda_batch.py", project_files.ACCESS_LOG, jars_lock.LOCK, log_store._SOURCE,
    airflow_server._RUN)]))
"""
    done = subprocess.run(
        [wheel.python, "-c", program], cwd=wheel.folder, env=environment(), capture_output=True, text=True, check=True
    )
    paths = [Path(path) for path in json.loads(done.stdout)]
    assert len(paths) == 7
    assert [path for path in paths if not path.is_file() or ROOT in path.parents] == []


def test_lk_runs_without_package_metadata_as_in_the_jobs_image(wheel: Installed) -> None:
    program = """
import importlib.metadata

def version(name):
    raise importlib.metadata.PackageNotFoundError(name)

importlib.metadata.version = version
from cli.root import run
raise SystemExit(run(["views", "--json"]))
"""
    done = subprocess.run([wheel.python, "-c", program], cwd=wheel.folder, env=environment(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
