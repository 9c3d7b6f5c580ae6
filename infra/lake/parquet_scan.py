"""Rows of a Delta table for Spark, read from its data files: Spark's Delta runs several jobs to compute a snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from infra.lake import damage, delta, delta_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, path: str) -> DataFrame:
    """All rows of a table that was written once, as builds are. Raises Refused when it does not exist or is damaged."""
    opened = delta.table(path)
    damage.require_whole_log(path, opened)
    return scan_files(spark, path, opened.schema().to_json(), delta_log.live_files(opened))


def scan_files(spark: SparkSession, path: str, schema: str, sizes: Mapping[str, int]) -> DataFrame:
    """Rows of some data files of the table at ``path``; ``schema`` is the table's, as JSON of Delta and Spark.

    ``sizes`` has the bytes of each file. Raises Refused when one differs: Spark takes an empty file for no rows.
    """
    from pyspark.sql.types import StructType

    columns = StructType.fromJson(json.loads(schema))
    if not sizes:
        return spark.createDataFrame([], columns)
    damage.require_files(path, sizes)
    return spark.read.schema(columns).option("basePath", path).parquet(*(f"{path}/{file}" for file in sizes))
