"""A query planned once and run again and again, over files whose content each epoch replaces.

Building and planning decoders and views costs Spark several times what computing a few hundred records does.
A plan with an exchange keeps its shuffle files, so it would answer with the epoch before: such a plan is refused.
Idea: prepared statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from infra.control.runs import Run
from infra.lake import files, table_paths
from infra.lake.arrow_types import arrow_type
from infra.settings import Settings

LARGEST = 32 * 1024 * 1024  # bytes of one epoch's files; above it, the records do not pass through the driver
_KEEPS_RESULTS = ("Exchange", "InMemoryTable", "Subquery", "Reused")


@dataclass(frozen=True)
class CachedPlan:
    """A query, planned."""

    rdd: Any
    schema: pa.Schema


def inbox_of(settings: Settings, run: Run) -> str:
    """The folder of a run's input files, made if missing."""
    inbox = f"{table_paths.checkpoint(settings, run.id)}/inbox"
    found, path = files.filesystem(inbox)
    found.create_dir(path, recursive=True)
    return inbox


def write(inbox: str, name: str, texts: Sequence[str]) -> None:
    """Replaces an input file: a JSON array of these texts."""
    files.replace(f"{inbox}/{name}.json", f"[{','.join(texts)}]".encode())


def content(spark: SparkSession, inbox: str, name: str) -> DataFrame:
    """An input file as one row whose ``content`` is opened anew each time a plan runs; it is made, empty."""
    write(inbox, name, [])
    return spark.read.format("binaryFile").load(f"{inbox}/{name}.json").coalesce(1).select("content")


def planned(frame: DataFrame) -> CachedPlan | None:
    """The plan of a query over input files; None when it keeps results between its runs, and cannot be used twice."""
    jdf: Any = frame._jdf
    plan = jdf.queryExecution().executedPlan()
    if any(word in plan.toString() for word in _KEEPS_RESULTS):
        return None
    schema = pa.schema([(field.name, arrow_type(field.dataType.simpleString())) for field in frame.schema])
    return CachedPlan(jdf.toArrowBatchRdd(plan).toJavaRDD(), schema)


def collected(spark: SparkSession, plans: Sequence[CachedPlan]) -> list[pa.Table]:
    """What each plan gives now; they run side by side, each a job of its own, so that a task carries one plan only."""
    # Tasks of a plain job see the session's settings only as local properties.
    spark.sparkContext.setLocalProperty("spark.sql.session.timeZone", "UTC")
    running = [plan.rdd.collectAsync() for plan in plans]
    return [_table(plan.schema, job.get()) for plan, job in zip(plans, running, strict=True)]


def _table(schema: pa.Schema, messages: Sequence[Any]) -> pa.Table:
    batches = [pa.ipc.read_record_batch(pa.py_buffer(bytes(message)), schema) for message in messages]
    return pa.Table.from_batches(batches, schema)
