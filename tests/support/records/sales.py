"""Stored rows of a small view: the sales of shops by day."""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession

SalesRow = tuple[str | None, int, int, int | None, int]
_COLUMNS = "shop string, day bigint, n bigint, volume decimal(38,0), _rows bigint"


def sales(spark: SparkSession, rows: list[SalesRow]) -> DataFrame:
    """A DataFrame of shop, day, count, volume and the number of rows behind them."""
    typed = [(shop, day, n, None if volume is None else Decimal(volume), m) for shop, day, n, volume, m in rows]
    return spark.createDataFrame(typed, _COLUMNS)
