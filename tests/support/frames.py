"""Records as Spark reads them from Kafka, and rows in the form of the oracle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

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
    """A DataFrame with the columns of Spark's Kafka source."""
    # Without the coalesce the optimizer would compute everything itself, without generated code.
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


def stored(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """The same rows, computed once, as tables keep them."""
    return spark.createDataFrame(frame.toArrow(), schema=frame.schema).coalesce(1)


def at(decoded: DataFrame, places: Iterable[tuple[int, int]]) -> DataFrame:
    """The decoded rows of some partitions and offsets: dividing costs less than decoding again."""
    listed = [f"{partition}/{offset}" for partition, offset in places]
    return decoded.where(fn.concat_ws("/", "_partition", "_offset").isin(listed))


def dicts(frame: DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries with aware times and Decimals."""
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def by_key(view: View, frame: DataFrame) -> Rows:
    """Stored rows by their key, with the visible columns; a key that is there twice fails."""
    keys = [column.name for column in view.key_columns]
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
