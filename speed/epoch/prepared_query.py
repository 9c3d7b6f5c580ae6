"""A query that is planned once and run many times, over input files that each epoch replaces (a prepared statement).

A plan with an exchange keeps its shuffle files, and would answer with the results of the epoch before, so
``plan_query`` does not accept one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from infra.control.runs import Run
from infra.lake import files, table_paths
from infra.settings import Settings
from infra.spark.collected_rows import schema_of, table_of
from infra.spark.session import is_java_class

MAX_INPUT_BYTES = 32 * 1024 * 1024  # of one epoch's input files; more records do not pass through the driver
MAX_RESULT_BYTES = 192 * 1024 * 1024  # of all results of an epoch, which this process collects
_KEEPS_RESULTS = ("Exchange", "InMemoryTable", "Subquery", "Reused")


@dataclass(frozen=True)
class PreparedQuery:
    """A physical plan as an RDD of Arrow batches, and the schema of these."""

    rdd: Any
    schema: pa.Schema


def create_inbox(settings: Settings, run: Run) -> str:
    """The folder of a run's input files, created if missing."""
    inbox = f"{table_paths.checkpoint(settings, run.id)}/inbox"
    filesystem, path = files.filesystem(inbox)
    filesystem.create_dir(path, recursive=True)
    return inbox


def write_input(inbox: str, name: str, rows: Sequence[str]) -> None:
    """Replaces an input file: a JSON array of these rows, each JSON text."""
    files.replace(f"{inbox}/{name}.json", f"[{','.join(rows)}]".encode())


def read_input(spark: SparkSession, inbox: str, name: str) -> DataFrame:
    """An input file, created empty, as one row with its ``content``; a plan opens the file each time that it runs."""
    write_input(inbox, name, [])
    return spark.read.format("binaryFile").load(f"{inbox}/{name}.json").coalesce(1).select("content")


def plan_query(frame: DataFrame) -> PreparedQuery | None:
    """The plan of a query over input files; None when it keeps results between its runs, so cannot run twice."""
    jdf: Any = frame._jdf
    plan = jdf.queryExecution().executedPlan()
    if any(word in plan.toString() for word in _KEEPS_RESULTS):
        return None
    return PreparedQuery(jdf.toArrowBatchRdd(plan).toJavaRDD(), schema_of(frame))


def run_plans(spark: SparkSession, plans: Sequence[PreparedQuery]) -> list[pa.Table]:
    """Runs the plans in parallel, each as a job of its own, so that a task carries one plan only.

    Raises an error that ``is_too_large`` knows when a result has more than MAX_RESULT_BYTES.
    """
    # Tasks of a job without a SQL execution see the session's settings only as local properties.
    spark.sparkContext.setLocalProperty("spark.sql.session.timeZone", "UTC")
    jobs = [_limited(spark, plan.rdd).collectAsync() for plan in plans]
    return [table_of(job.get(), plan.schema) for plan, job in zip(plans, jobs, strict=True)]


def _limited(spark: SparkSession, batches: Any) -> Any:
    limit: Any = spark._jvm.org.apache.spark.sql.lk.ResultLimit  # type: ignore[union-attr]
    return limit.of(batches, MAX_RESULT_BYTES) if is_java_class(limit) else batches
