"""Few rows of a query are collected as they are; more than the limit are not, and an error stays an error."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from infra.spark import collected_rows
from infra.spark.collected_rows import collected


def test_rows_of_every_type_are_collected_as_they_are(spark: SparkSession) -> None:
    rows = spark.sql(
        """select 'k' key, 7L count, 3 part, true yes, 0.5D share, cast(12.34 as decimal(38,2)) amount, x'00ff' bytes,
        timestamp'2026-11-29 10:00:00.123456' at, date'2026-11-29' day, array('a', null) tags,
        array(named_struct('key', 'h', 'value', x'01')) headers, cast(null as string) missing"""
    )
    table = collected(rows)
    assert table is not None
    assert table.to_pylist() == [
        {
            "key": "k",
            "count": 7,
            "part": 3,
            "yes": True,
            "share": 0.5,
            "amount": Decimal("12.34"),
            "bytes": b"\x00\xff",
            "at": datetime(2026, 11, 29, 10, 0, 0, 123_456, UTC),
            "day": date(2026, 11, 29),
            "tags": ["a", None],
            "headers": [{"key": "h", "value": b"\x01"}],
            "missing": None,
        }
    ]
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")


def test_rows_of_all_tasks_are_collected_in_the_order_of_the_query(spark: SparkSession) -> None:
    rows = (
        spark.range(10_000, numPartitions=7).groupBy((fn.col("id") % 100).alias("key")).agg(fn.sum("id").alias("sum"))
    )
    table = collected(rows.coalesce(1).sortWithinPartitions("key"))
    assert table is not None
    assert table["key"].to_pylist() == list(range(100))
    assert table["sum"].to_pylist() == [sum(range(key, 10_000, 100)) for key in range(100)]


def test_no_rows_are_a_table_with_the_columns(spark: SparkSession) -> None:
    table = collected(spark.range(5).where("id > 5"))
    assert table is not None
    assert table.schema == pa.schema([("id", pa.int64())])
    assert table.num_rows == 0


def test_rows_beyond_the_limit_are_not_collected(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = spark.range(50_000).select(fn.repeat(fn.lit("x"), 100).alias("text"))
    assert collected(rows) is not None
    monkeypatch.setattr(collected_rows, "MOST_BYTES", 1_000_000)
    assert collected(rows) is None


def test_large_rows_are_counted_before_a_batch_of_them_is_in_memory(spark: SparkSession) -> None:
    """An Arrow batch has up to 10,000 rows, of which those below have 600 MB. The limit is reached at the 560th."""
    text = "if(id < 5000, repeat('x', 60000), raise_error('read too far'))"
    assert collected(spark.range(0, 10_000, numPartitions=1).selectExpr(f"{text} AS text")) is None


def test_an_error_of_the_query_is_raised(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="CAST_INVALID_INPUT"):
        collected(spark.range(1).select(fn.lit("x").cast("int")))
