"""Rows of a query that this process collects if they are few: Spark's Delta plans several jobs for each write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from infra.lake.arrow_types import arrow_type
from infra.spark.session import is_java_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_BYTES = 32 * 1024 * 1024
_TOO_LARGE = ("ResultTooLarge", "spark.driver.maxResultSize", "OutOfMemoryError")  # in messages of errors


def collected(frame: DataFrame) -> pa.Table | None:
    """All rows, computed by one last task; None when they take more than MOST_BYTES, and without our Scala classes.

    The task stops as soon as its rows take more. Raises what Spark raises.
    """
    jvm: Any = frame.sparkSession._jvm
    limit = jvm.org.apache.spark.sql.lk.ResultLimit
    if not is_java_class(limit):
        return None
    try:
        batches = limit.collected(frame.coalesce(1)._jdf, MOST_BYTES)
    except Exception as e:
        if is_too_large(e):
            return None
        raise
    return table_of(batches, schema_of(frame))


def is_too_large(error: Exception) -> bool:
    """Whether Spark failed because a result is too large for the driver; executors can write it."""
    return any(word in str(error) for word in _TOO_LARGE)


def schema_of(frame: DataFrame) -> pa.Schema:
    """The columns of a query, as Arrow has them."""
    return pa.schema([(field.name, arrow_type(field.dataType.simpleString())) for field in frame.schema])


def table_of(batches: Iterable[Any], schema: pa.Schema) -> pa.Table:
    """A table of the Arrow batches that Java has answered, each an array of bytes."""
    read = [pa.ipc.read_record_batch(pa.py_buffer(bytes(batch)), schema) for batch in batches]
    return pa.Table.from_batches(read, schema)
