"""Small epochs without planning: the plan is made once, over a file whose content each epoch replaces.

Building and planning decoders and views costs Spark several times what computing a few hundred records does. So the
records of a small epoch become a JSON file per topic (bytes as base64), and RDDs that were planned once read it: they
give the ledger, the quarantine and every view's partial, through the same functions as everywhere else.
A plan with an exchange keeps its shuffle files, so it would answer with the epoch before: such a plan is refused.
Idea: prepared statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.pandas.types import to_arrow_schema

from core.catalog import Catalog
from core.decode import decode
from core.ident import Name
from core.view import View
from infra import lake
from infra.runs import Run
from infra.settings import Settings
from speed.branches import Branch, branches
from speed.progress import filesystem

LARGEST = 32 * 1024 * 1024  # bytes of one epoch's files; above it, the records do not pass through the driver
_SHAPE = (
    "array<struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:bigint,"
    "timestampType:int,headers:array<struct<key:string,value:binary>>>>"
)
_KEEPS_RESULTS = ("Exchange", "InMemoryTable", "Subquery", "Reused")


@dataclass(frozen=True)
class _Plan:
    branch: Branch
    rdd: Any
    schema: pa.Schema


@dataclass(frozen=True)
class Prepared:
    """The plans of a run's topics, ready to be run again and again."""

    spark: SparkSession
    inbox: str
    plans: dict[Name, tuple[_Plan, ...]]

    def run(self, topics: Sequence[Name]) -> list[tuple[Branch, pa.Table]]:
        """Computes every branch of these topics over what is in the inbox."""
        plans = [plan for topic in topics for plan in self.plans[topic]]
        results = _collect(self.spark, [plan.rdd for plan in plans])
        return [(plan.branch, _table(plan.schema, found)) for plan, found in zip(plans, results, strict=True)]

    def culprit(self, topics: Sequence[Name]) -> Branch | None:
        """The first branch that fails when run alone."""
        for plan in (plan for topic in topics for plan in self.plans[topic]):
            try:
                _collect(self.spark, [plan.rdd])
            except Exception:  # whatever Spark raises: the caller holds the reason already
                return plan.branch
        return None

    def put(self, records: DataFrame, topics: Sequence[Name]) -> bool:
        """Fills the inbox; False, with nothing changed, when the records are too large for it."""
        rows = records.coalesce(1).select("topic", _json()).toArrow()
        if rows.nbytes > LARGEST:
            return False
        for topic in topics:
            mine = rows.filter(pa.compute.equal(rows["topic"], str(topic)))["json"]
            write(self.inbox, topic, "[" + ",".join(mine.to_pylist()) + "]")
        return True


def prepare(
    spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, views: dict[Name, list[View]]
) -> Prepared | None:
    """Plans everything once; None when a plan keeps results between its runs, and so cannot be used twice."""
    inbox = f"{lake.checkpoint(settings, run.id)}/inbox"
    filesystem(inbox)[0].create_dir(filesystem(inbox)[1], recursive=True)
    with ThreadPoolExecutor() as pool:  # planning is half of a start, and topics are planned apart
        coming = {name: pool.submit(_plan_topic, spark, catalog, inbox, name, views[name]) for name in views}
    plans = {topic: made for topic, future in coming.items() if (made := future.result()) is not None}
    return Prepared(spark, inbox, plans) if len(plans) == len(views) else None


def write(inbox: str, topic: Name, text: str) -> None:
    """Replaces a topic's file in the inbox."""
    files, root = filesystem(inbox)
    part, path = f"{root}/{topic}.part", f"{root}/{topic}.json"
    with files.open_output_stream(part) as out:
        out.write(text.encode())
    files.move(part, path)


def _json() -> Any:
    plain = ["key", "value", "topic", "partition", "offset", "timestampType", "headers"]
    return fn.to_json(fn.struct(*plain, fn.unix_micros("timestamp").alias("timestamp"))).alias("json")


def _records(spark: SparkSession, inbox: str, topic: Name) -> DataFrame:
    """The inbox as Kafka's source would give it. The file is opened anew each time the plan runs."""
    content = spark.read.format("binaryFile").load(f"{inbox}/{topic}.json").coalesce(1)
    parsed = fn.from_json(fn.col("content").cast("string"), _SHAPE)
    return content.select(fn.inline(parsed)).withColumn("timestamp", fn.timestamp_micros("timestamp"))


def _plan_topic(
    spark: SparkSession, catalog: Catalog, inbox: str, topic: Name, views: Sequence[View]
) -> tuple[_Plan, ...] | None:
    write(inbox, topic, "[]")
    events = decode(catalog.topic(topic), _records(spark, inbox, topic))
    made = [_planned(branch) for branch in branches(topic, views, events)]
    plans = tuple(plan for plan in made if plan is not None)
    return plans if len(plans) == len(made) else None


def _planned(branch: Branch) -> _Plan | None:
    jdf: Any = branch.frame._jdf
    plan = jdf.queryExecution().executedPlan()
    if any(word in plan.toString() for word in _KEEPS_RESULTS):
        return None
    schema = to_arrow_schema(branch.frame.schema, timezone="UTC")
    return _Plan(branch, jdf.toArrowBatchRdd(plan).toJavaRDD(), schema)


def _collect(spark: SparkSession, rdds: Sequence[Any]) -> list[list[Any]]:
    """Runs RDDs side by side, each as a job of its own, so that a task carries one plan only; what each one gave."""
    # Tasks of a plain job see the session's settings only as local properties.
    spark.sparkContext.setLocalProperty("spark.sql.session.timeZone", "UTC")
    running = [rdd.collectAsync() for rdd in rdds]
    return [list(job.get()) for job in running]


def _table(schema: pa.Schema, messages: list[Any]) -> pa.Table:
    batches = [pa.ipc.read_record_batch(pa.py_buffer(bytes(message)), schema) for message in messages]
    return pa.Table.from_batches(batches, schema)
