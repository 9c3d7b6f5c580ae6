"""Rows of a Delta table for Spark, from its files: Spark's Delta would compute its state first, in several jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from infra import delta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def table(spark: SparkSession, path: str) -> DataFrame:
    """All rows of a table as it is now; nothing may delete from it while they are read."""
    return files(spark, path, delta.schema(path), delta.files(path))


def files(spark: SparkSession, path: str, schema: str, found: Sequence[str]) -> DataFrame:
    """Rows of some files of a table at a path; ``schema`` is the table's, as the JSON that Delta and Spark share."""
    from pyspark.sql.types import StructType

    columns = StructType.fromJson(json.loads(schema))
    if not found:
        return spark.createDataFrame([], columns)
    return spark.read.schema(columns).option("basePath", path).parquet(*found)
