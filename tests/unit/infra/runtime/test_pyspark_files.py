"""The installed pyspark is found without its import, so that verbs without Spark do not wait for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark

from infra.runtime import pyspark_files

STATUS = """
import sys
import cli.servers, flows.overview
assert "pyspark" not in sys.modules
assert "great_expectations" not in sys.modules
"""


def test_the_version_and_the_jars_are_those_of_the_package() -> None:
    assert pyspark_files.version() == pyspark.__version__
    assert pyspark_files.jars() == Path(pyspark.__file__).parent / "jars"
    assert list(pyspark_files.jars().glob("spark-core_*.jar"))


def test_status_imports_no_spark() -> None:
    subprocess.run([sys.executable, "-c", STATUS], check=True, timeout=60)
