"""Small epochs without planning: their records become a file per topic, which plans made once read.

The plans give the ledger, the quarantine, every rollup's partial and the events of keyed views, through the same
functions as everywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.decoding.decode import decode_originals
from core.decoding.redrive_headers import ORIGIN
from core.identifiers import Name
from core.view import View
from infra.control.runs import Run
from infra.settings import Settings
from speed.epoch.cached_plan import LARGEST, CachedPlan, collected, content, inbox_of, planned, write
from speed.epoch.topic_results import TopicResults, branches

_SHAPE = (
    "array<struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:bigint,"
    "timestampType:int,headers:array<struct<key:string,value:binary>>>>"
)


@dataclass(frozen=True)
class Prepared:
    """The plans of a run's topics, ready to be run again and again."""

    spark: SparkSession
    inbox: str
    plans: dict[Name, tuple[tuple[TopicResults, CachedPlan], ...]]

    def run(self, topics: Sequence[Name]) -> list[tuple[TopicResults, pa.Table]]:
        """Computes every branch of these topics over what is in the inbox."""
        plans = [pair for topic in topics for pair in self.plans[topic]]
        tables = collected(self.spark, [plan for _, plan in plans])
        return [(branch, table) for (branch, _), table in zip(plans, tables, strict=True)]

    def culprit(self, topics: Sequence[Name]) -> TopicResults | None:
        """The first branch that fails when run alone."""
        for branch, plan in (pair for topic in topics for pair in self.plans[topic]):
            try:
                collected(self.spark, [plan])
            except Exception:  # whatever Spark raises: the caller holds the reason already
                return branch
        return None

    def put(self, records: DataFrame, topics: Sequence[Name]) -> bool:
        """Fills the inbox; False, with nothing changed, when the records are too large for it, or one is redriven."""
        rows = records.coalesce(1).select("topic", _json()).toArrow()
        if rows.nbytes > LARGEST or pa.compute.any(pa.compute.match_substring(rows["json"], f'"{ORIGIN}"')).as_py():
            return False
        for topic in topics:
            mine = rows.filter(pa.compute.equal(rows["topic"], str(topic)))["json"]
            write(self.inbox, topic, mine.to_pylist())
        return True


def prepare(
    spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, views: dict[Name, list[View]]
) -> Prepared | None:
    """Plans everything once; None when a plan keeps results between its runs, and so cannot be used twice."""
    inbox = inbox_of(settings, run)
    with ThreadPoolExecutor() as pool:  # planning is half of a start, and topics are planned apart
        coming = {name: pool.submit(_plan_topic, spark, catalog, inbox, name, views[name]) for name in views}
    plans = {topic: made for topic, future in coming.items() if (made := future.result()) is not None}
    return Prepared(spark, inbox, plans) if len(plans) == len(views) else None


def _json() -> Any:
    plain = ["key", "value", "topic", "partition", "offset", "timestampType", "headers"]
    return fn.to_json(fn.struct(*plain, fn.unix_micros("timestamp").alias("timestamp"))).alias("json")


def _records(spark: SparkSession, inbox: str, topic: Name) -> DataFrame:
    """The inbox as Kafka's source would give it, bytes as base64."""
    parsed = fn.from_json(fn.col("content").cast("string"), _SHAPE)
    rows = content(spark, inbox, topic).select(fn.inline(parsed))
    return rows.withColumn("timestamp", fn.timestamp_micros("timestamp"))


def _plan_topic(
    spark: SparkSession, catalog: Catalog, inbox: str, topic: Name, views: Sequence[View]
) -> tuple[tuple[TopicResults, CachedPlan], ...] | None:
    events = decode_originals(catalog.topic(topic), _records(spark, inbox, topic))
    made = [(branch, planned(branch.frame)) for branch in branches(catalog.topic(topic), views, events)]
    plans = tuple((branch, plan) for branch, plan in made if plan is not None)
    return plans if len(plans) == len(made) else None
