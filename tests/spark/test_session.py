"""A Spark session is stopped by the code that started it."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from infra.spark.session import temporary_session
from tests.conftest import fresh_settings


def test_an_existing_session_is_reused_and_not_stopped(spark: SparkSession, tmp_path: Path) -> None:
    with temporary_session(fresh_settings(tmp_path), "another") as same:
        assert same.sparkContext is spark.sparkContext
    assert spark.range(3).count() == 3
    assert not (tmp_path / "logs").exists()
