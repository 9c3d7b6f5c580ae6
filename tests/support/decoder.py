"""Decodes the records of many examples with one plan per topic, because planning costs more than decoding."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from core.decoding.decode import decode
from core.identifiers import Name
from core.topic import Topic
from speed.epoch.cached_plan import CachedPlan, plan_query, run_plans, write_input
from speed.epoch.prepared_plans import read_records
from tests.support.oracle.view_oracle import Record


@dataclass(frozen=True)
class Decoder:
    """The plans of ``decode`` by topic, made as for small epochs: they read files that each call replaces."""

    spark: SparkSession
    inbox: str
    plans: dict[Name, tuple[Topic, CachedPlan, DataFrame]] = field(default_factory=dict)

    def rows(self, topic: Topic, records: Iterable[Record]) -> DataFrame:
        """The decoded records, in memory."""
        name = Name(topic.name)
        if name not in self.plans or self.plans[name][0] != topic:
            frame = decode(topic, read_records(self.spark, self.inbox, name))
            plan = plan_query(frame)
            assert plan
            self.plans[name] = (topic, plan, frame)
        _, plan, frame = self.plans[name]
        write_input(self.inbox, name, [_json(record) for record in records])
        (table,) = run_plans(self.spark, [plan])
        rows = table if table.num_rows else table.schema.empty_table()  # it has no batches then
        return self.spark.createDataFrame(rows, schema=frame.schema).coalesce(1)


def _json(record: Record) -> str:
    """The record as an epoch writes it: bytes in base64, the time in microseconds."""
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
