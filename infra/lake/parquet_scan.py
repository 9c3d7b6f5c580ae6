"""Rows of a Delta table for Spark, read from its data files: Spark's Delta runs several jobs to compute a snapshot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from infra.lake import delta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, path: str) -> DataFrame:
    """All rows of a table that was written once, as builds are. Raises Refused when it does not exist."""
    opened = delta.table(path)
    files = pa.table(opened.get_add_actions()).column("path").to_pylist()
    return scan_files(spark, path, opened.schema().to_json(), [f"{path}/{file}" for file in files])


def scan_files(spark: SparkSession, path: str, schema: str, paths: Sequence[str]) -> DataFrame:
    """Rows of some data files of the table at ``path``; ``schema`` is the table's, as JSON of Delta and Spark."""
    from pyspark.sql.types import StructType

    columns = StructType.fromJson(json.loads(schema))
    if not paths:
        return spark.createDataFrame([], columns)
    return spark.read.schema(columns).option("basePath", path).parquet(*paths)
