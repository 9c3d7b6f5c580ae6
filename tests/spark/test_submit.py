"""A verb in a driver of spark-submit runs with the master, the Java and the jars of spark-submit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from infra.project_files import ROOT
from infra.runtime import jars, spark_versions
from infra.runtime.java import spark_java_home
from infra.settings import Settings
from tests.conftest import fresh_settings
from tests.support.command import environment, write_config

pytestmark = pytest.mark.slow

ENTRY = ROOT / "images" / "jobs" / "lk_verb.py"
VIEW = """
from core.measures import Count
from core.view import Key, Rollup

VIEW = Rollup("per_ticker", sources=("trades",), keys=(Key("ticker", {sql!r}),), measures=(Count("trades"),))
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return fresh_settings(tmp_path / "data")


def submit(settings: Settings, folder: Path, *words: str, **values: Any) -> subprocess.CompletedProcess[str]:
    """Runs the entry point with spark-submit, in a folder that holds only the settings file."""
    home = Path(pyspark.__file__).parent
    jar_files = sorted(
        str(jar) for jar in jars.ensure_jars(settings, spark_versions.installed_spark().jars).glob("*.jar")
    )
    # An unreachable master in the settings: a session that used it would not start.
    ports = {name: getattr(settings, name) for name in ("kafka_port", "kafka_controller_port", "trino_port")}
    write_config(
        folder / "lk.toml", {"data": str(settings.data), "spark_master": "spark://127.0.0.1:1"} | ports | values
    )
    return subprocess.run(
        [
            *(str(home / "bin" / "spark-submit"), "--master", "local[2]", "--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
            *("--driver-class-path", os.pathsep.join(jar_files), str(ENTRY), *words),
        ],
        cwd=folder,
        env=environment()
        | {
            "JAVA_HOME": str(spark_java_home(settings)),
            "SPARK_HOME": str(home),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )


def with_view(folder: Path, sql: str) -> str:
    (folder / "views").mkdir()
    (folder / "views" / "per_ticker.py").write_text(VIEW.format(sql=sql), "utf-8")
    return str(folder / "views")


def test_a_verb_runs_in_the_session_of_spark_submit(settings: Settings, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    views = with_view(tmp_path, "no_such_function(ticker)")
    process = submit(settings, tmp_path, "--result", result.as_uri(), "views", "check", "--json", views=[views])
    assert process.returncode == 1, process.stderr
    stored = json.loads(result.read_text("utf-8"))
    assert stored["exit"] == 1
    assert process.stdout.endswith(stored["out"])  # spark-submit adds the stderr of Python
    [problem] = json.loads(stored["out"])
    assert problem["file"] == f"{views}/per_ticker.py"
    assert "no_such_function" in problem["text"]  # only a session knows the functions


def test_a_refused_verb_exits_with_1_and_an_unknown_one_with_2(settings: Settings, tmp_path: Path) -> None:
    refused = submit(settings, tmp_path, "gate", "--json")
    assert (refused.returncode, json.loads(refused.stdout)["exit"]) == (1, 1), refused.stderr
    assert submit(settings, tmp_path, "no-such-verb").returncode == 2
