"""Decodes the records of many examples with one plan per topic, because planning costs more than decoding."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.decoding.decode import decode
from core.identifiers import Name
from core.topic import Topic
from speed.epoch.prepared_query import PreparedQuery, plan_query, read_input, run_plans, write_input
from tests.support.oracle.view_oracle import Record

_RECORDS = (
    "array<struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:bigint,"
    "timestampType:int,headers:array<struct<key:string,value:binary>>>>"
)


@dataclass(frozen=True)
class Decoder:
    """The plans of ``decode`` by topic: they read files that each call replaces."""

    spark: SparkSession
    inbox: str
    plans: dict[Name, tuple[Topic, PreparedQuery, DataFrame]] = field(default_factory=dict)

    def rows(self, topic: Topic, records: Iterable[Record]) -> DataFrame:
        """The decoded records, in memory."""
        name = Name(topic.name)
        if name not in self.plans or self.plans[name][0] != topic:
            frame = decode(topic, _records(self.spark, self.inbox, name))
            plan = plan_query(frame)
            assert plan
            self.plans[name] = (topic, plan, frame)
        _, plan, frame = self.plans[name]
        write_input(self.inbox, name, [_json(record) for record in records])
        (table,) = run_plans(self.spark, [plan])
        rows = table if table.num_rows else table.schema.empty_table()  # it has no batches then
        return self.spark.createDataFrame(rows, schema=frame.schema).coalesce(1)


def _records(spark: SparkSession, inbox: str, topic: Name) -> DataFrame:
    """The input file with the columns of Spark's Kafka source."""
    parsed = fn.from_json(fn.col("content").cast("string"), _RECORDS)
    rows = read_input(spark, inbox, topic).select(fn.inline(parsed))
    return rows.withColumn("timestamp", fn.timestamp_micros("timestamp"))


def _json(record: Record) -> str:
    """The record as a file of the inbox holds it: bytes in base64, the time in microseconds."""
    return json.dumps(
        {
            "key": _base64(record.key),
            "value": _base64(record.value),
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms * 1_000,
            "timestampType": 0,
        }
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
