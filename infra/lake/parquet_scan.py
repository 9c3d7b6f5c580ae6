"""Rows of a Delta table for Spark, from its files: Spark's Delta would compute its state first, in several jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from infra.lake import delta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, path: str) -> DataFrame:
    """All rows of a table that was written once, as a build is. Raises Refused when it is not there."""
    opened = delta.table(path)
    names = pa.table(opened.get_add_actions()).column("path").to_pylist()
    return scan_files(spark, path, opened.schema().to_json(), [f"{path}/{name}" for name in names])


def scan_files(spark: SparkSession, path: str, schema: str, found: Sequence[str]) -> DataFrame:
    """Rows of some files of a table at a path; ``schema`` is the table's, as the JSON that Delta and Spark share."""
    from pyspark.sql.types import StructType

    columns = StructType.fromJson(json.loads(schema))
    if not found:
        return spark.createDataFrame([], columns)
    return spark.read.schema(columns).option("basePath", path).parquet(*found)
