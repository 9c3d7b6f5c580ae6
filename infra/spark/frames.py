"""Spark frames of rows that this process holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A frame of one partition with the rows of a table.

    The rows are passed in one chunk: Spark takes an empty chunk, which a filter may leave, for the end of all rows.
    """
    return spark.createDataFrame(table.combine_chunks()).coalesce(1)
