"""A smaller limit of what a Spark job returns to the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def largest_result(spark: SparkSession, size: str) -> Iterator[None]:
    """Limits what a Spark job returns, which is otherwise fixed when the process starts."""
    conf, name = spark.sparkContext._jsc.sc().conf(), "spark.driver.maxResultSize"
    before = conf.get(name, "1g")
    conf.set(name, size)
    try:
        yield
    finally:
        conf.set(name, before)
