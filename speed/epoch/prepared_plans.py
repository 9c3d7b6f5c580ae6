"""The prepared plans of small epochs: their records become an input file per topic, which plans made at the start read.

The plans compute the record counts, the quarantine, the partial rows of every rollup and the events of keyed views,
with the same functions as everywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.decoding.decode import decode_originals
from core.decoding.redrive_headers import ORIGIN
from core.identifiers import Name
from core.view import View
from infra.control.runs import Run
from infra.settings import Settings
from speed.epoch.cached_plan import (
    MAX_INPUT_BYTES,
    CachedPlan,
    create_inbox,
    plan_query,
    read_input,
    run_plans,
    write_input,
)
from speed.epoch.topic_results import TopicResult, results_of_topic

MAX_RESULT_BYTES = 192 * 1024 * 1024  # of all results of an epoch, which this process collects
_RECORDS = (
    "array<struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:bigint,"
    "timestampType:int,headers:array<struct<key:string,value:binary>>>>"
)


@dataclass(frozen=True)
class PreparedPlans:
    """The plans of a run's topics."""

    spark: SparkSession
    inbox: str
    plans: dict[Name, tuple[tuple[TopicResult, CachedPlan], ...]]

    def write_records(self, records: DataFrame, topics: Sequence[Name], count: int) -> bool:
        """Writes the input files. False, with nothing written, for too many bytes or a redriven record.

        Of ``count`` records, one that is larger than its share of ``MAX_INPUT_BYTES`` does not reach the driver. The
        results of all plans together, each about as large as its input at most, fit into ``MAX_RESULT_BYTES``.
        """
        selected = records.coalesce(1).select("topic", _record_json())
        fits = fn.octet_length("json") <= MAX_INPUT_BYTES // max(1, count)
        rows = selected.select("topic", fn.when(fits, fn.col("json")).alias("json")).toArrow()
        redriven = pa.compute.any(pa.compute.match_substring(rows["json"], f'"{ORIGIN}"')).as_py()
        if redriven or rows["json"].null_count:
            return False
        texts_of = {topic: rows.filter(pa.compute.equal(rows["topic"], str(topic)))["json"] for topic in topics}
        if sum(texts.nbytes * len(self.plans[topic]) for topic, texts in texts_of.items()) > MAX_RESULT_BYTES:
            return False
        for topic, texts in texts_of.items():
            write_input(self.inbox, topic, texts.to_pylist())
        return True

    def run(self, topics: Sequence[Name]) -> list[tuple[TopicResult, pa.Table]]:
        """Computes every result of these topics from the input files."""
        pairs = [pair for topic in topics for pair in self.plans[topic]]
        tables = run_plans(self.spark, [plan for _, plan in pairs])
        return [(result, table) for (result, _), table in zip(pairs, tables, strict=True)]

    def failing_result(self, topics: Sequence[Name]) -> TopicResult | None:
        """The first result whose plan fails when it runs alone."""
        for result, plan in (pair for topic in topics for pair in self.plans[topic]):
            try:
                run_plans(self.spark, [plan])
            except Exception:  # whatever Spark raises: the caller has the error already
                return result
        return None


def prepare(
    spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, views: dict[Name, list[View]]
) -> PreparedPlans | None:
    """Plans every topic once; None when a plan keeps results between its runs, so cannot run twice."""
    inbox = create_inbox(settings, run)
    with ThreadPoolExecutor() as pool:  # planning is half of a start, and each topic is planned by itself
        futures = {name: pool.submit(_plan_topic, spark, catalog, inbox, name, views[name]) for name in views}
    plans = {name: plans for name, future in futures.items() if (plans := future.result()) is not None}
    return PreparedPlans(spark, inbox, plans) if len(plans) == len(views) else None


def _record_json() -> Column:
    plain = ["key", "value", "topic", "partition", "offset", "timestampType", "headers"]
    return fn.to_json(fn.struct(*plain, fn.unix_micros("timestamp").alias("timestamp"))).alias("json")


def read_records(spark: SparkSession, inbox: str, topic: Name) -> DataFrame:
    """The input file with the columns of Spark's Kafka source; bytes are base64 in it."""
    parsed = fn.from_json(fn.col("content").cast("string"), _RECORDS)
    rows = read_input(spark, inbox, topic).select(fn.inline(parsed))
    return rows.withColumn("timestamp", fn.timestamp_micros("timestamp"))


def _plan_topic(
    spark: SparkSession, catalog: Catalog, inbox: str, topic: Name, views: Sequence[View]
) -> tuple[tuple[TopicResult, CachedPlan], ...] | None:
    events = decode_originals(catalog.topic(topic), read_records(spark, inbox, topic))
    results = results_of_topic(catalog.topic(topic), views, events)
    plans = [(result, plan_query(result.frame)) for result in results]
    usable = tuple((result, plan) for result, plan in plans if plan is not None)
    return usable if len(usable) == len(plans) else None
