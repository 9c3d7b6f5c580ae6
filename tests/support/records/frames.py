"""Converts records to DataFrames of Spark's Kafka source, and DataFrames to rows in the oracle's form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.event_columns import SOURCE_COLUMNS
from core.view import View
from tests.support.oracle.view_oracle import Record, Rows, moment

_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
KAFKA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(_HEADER)),
    ]
)


def from_kafka(spark: SparkSession, records: Iterable[Record]) -> DataFrame:
    """The records as a DataFrame with the columns of Spark's Kafka source."""
    # Without coalesce the optimizer would evaluate the query on the local relation, without generated code.
    rows = [
        {
            "key": r.key,
            "value": r.value,
            "topic": r.topic,
            "partition": r.partition,
            "offset": r.offset,
            "timestamp": moment(r.timestamp_ms),
            "timestampType": 0,
            "headers": None,
        }
        for r in records
    ]
    return spark.createDataFrame(pa.Table.from_pylist(rows, KAFKA)).coalesce(1)


def named(records: DataFrame) -> DataFrame:
    """Records of Kafka's source under our names; columns that they lack are null."""
    return records.select(
        *(
            (fn.col(source) if source in records.columns else fn.lit(None).cast(kind)).alias(name)
            for source, (name, kind) in SOURCE_COLUMNS.items()
        )
    )


def stored(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """The rows of the frame, computed once."""
    return spark.createDataFrame(frame.toArrow(), schema=frame.schema).coalesce(1)


def at(decoded: DataFrame, coordinates: Iterable[tuple[int, int]]) -> DataFrame:
    """The decoded rows of these partitions and offsets. Filtering costs less than decoding again."""
    positions = [f"{partition}/{offset}" for partition, offset in coordinates]
    return decoded.where(fn.concat_ws("/", "_partition", "_offset").isin(positions))


def dicts(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows as dictionaries with aware times and Decimals."""
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def by_key(view: View, frame: DataFrame) -> Rows:
    """The stored rows by key, with the visible columns. Fails on a duplicate key."""
    keys = [column.name for column in view.identifying_columns]
    out: Rows = {}
    for row in dicts(frame):
        key = tuple(row.pop(name) for name in keys)
        assert key not in out, f"{view.name}: {key} twice"
        out[key] = {name: value for name, value in row.items() if not name.startswith("_")}
    return out


def stored_only(view: View, rows: Rows) -> Rows:
    """The oracle's rows without presentation columns."""
    shown = {column.name for column in view.shown}
    return {key: {name: v for name, v in row.items() if name not in shown} for key, row in rows.items()}
