"""A Spark session is stopped by the code that started it; a frame has every row that this process holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from infra.child_environment import child_environment
from infra.spark.frames import frame_of
from infra.spark.session import temporary_session
from tests.conftest import fresh_settings


def test_an_existing_session_is_reused_and_not_stopped(spark: SparkSession, tmp_path: Path) -> None:
    with temporary_session(fresh_settings(tmp_path), "another") as same:
        assert same.sparkContext is spark.sparkContext
    assert spark.range(3).count() == 3
    assert not (tmp_path / "logs").exists()


def test_an_existing_session_gets_its_own_settings_back(spark: SparkSession, tmp_path: Path) -> None:
    name = "spark.sql.codegen.wholeStage"
    with temporary_session(fresh_settings(tmp_path), "another", {name: "false"}) as same:
        assert same.conf.get(name) == "false"
    assert spark.conf.get(name) == "true"


def test_whoever_reaches_the_drivers_ports_must_know_its_secret(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    security = jvm.org.apache.spark.SparkEnv.get().securityManager()
    assert (security.isAuthenticationEnabled(), len(security.getSecretKey())) == (True, 64)


SESSION = """
import json
import psutil
from infra.settings.sources import read_settings
from infra.spark.session import session

def arguments(process):
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # a shell that started another one
        return ""

spark = session(read_settings(), "arguments")
print(json.dumps({
    "arguments": [arguments(process) for process in psutil.Process().children(recursive=True)],
    "secret": spark.sparkContext._jsc.hadoopConfiguration().get("fs.s3a.secret.key"),
    "left": [str(path) for path in read_settings().run_dir.rglob("*.conf")],
}))
"""


def test_no_value_of_spark_conf_is_an_argument_of_a_process(tmp_path: Path) -> None:
    secret = "unseen\\value=1 \u00e9\n#"
    conf = {"spark.hadoop.fs.s3a.secret.key": secret, "spark.driver.memory": "700m"}
    settings = fresh_settings(tmp_path).model_copy(update={"spark_conf": conf})
    environment = os.environ | child_environment(settings)
    run = subprocess.run([sys.executable, "-c", SESSION], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout.splitlines()[-1])
    assert any("-Xmx700m" in text for text in seen["arguments"])  # the launcher has read the values, too
    assert not [text for text in seen["arguments"] if "unseen" in text]
    assert (seen["secret"], seen["left"]) == (secret, [])


def test_a_frame_has_the_rows_after_an_empty_chunk(spark: SparkSession) -> None:
    """Spark takes an empty chunk for the end of all rows: a fold of 37,373 rows after one was replaced by none."""
    numbers = pa.chunked_array([pa.array([], pa.int64()), pa.array([1, 2], pa.int64()), pa.array([3], pa.int64())])
    assert [row.number for row in frame_of(spark, pa.table({"number": numbers})).collect()] == [1, 2, 3]
