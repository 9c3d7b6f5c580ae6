"""Large bad records: their bytes stay out of what an epoch caches and groups, and are read from the log again.

A valid record is at most as long as its topic allows. A bad one may be as long as the broker allows, and some of them
would fill the memory that groups rows.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.event_columns import ERROR

LARGE = "_large"  # column: whether the record is bad and large
LARGE_COUNT = "large"  # the number of such records, among the record counts
_LARGEST = 65_536  # bytes of key, value and headers
_BYTES = ("_key", "_value", "_headers")


def cut_large(events: DataFrame) -> DataFrame:
    """The decoded rows with the column LARGE; large ones without their bytes."""
    cut = {name: fn.when(~fn.col(LARGE), fn.col(name)) for name in _BYTES}
    return events.withColumn(LARGE, _is_large()).withColumns(cut)


def large_records(events: DataFrame) -> DataFrame:
    """The decoded rows of large bad records, with their bytes."""
    return events.where(_is_large())


def _is_large() -> Column:
    headers = fn.when(fn.size("_headers") > 0, fn.octet_length(fn.to_json("_headers")))
    sizes = (fn.octet_length("_key"), fn.octet_length("_value"), headers)
    key, value, more = (fn.coalesce(size, fn.lit(0)) for size in sizes)
    return fn.col(ERROR).isNotNull() & (key + value + more > _LARGEST)
