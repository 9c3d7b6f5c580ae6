"""The prepared plans of small epochs: one Spark task reads the epoch's records and runs plans that the start made.

The plans compute the record counts, the quarantine, the partial rows of every rollup and the events of keyed views,
with the same functions as everywhere else. The task is infra/spark/scala/EpochPlans.scala.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from core.catalog import Catalog
from core.cut import Span
from core.decoding.decode import decode_originals
from core.identifiers import Name
from core.view import View
from infra.control.runs import Run
from infra.kafka.spark_source import source_options
from infra.settings import Settings
from infra.spark.session import is_java_class
from speed.epoch.prepared_query import MAX_INPUT_BYTES, MAX_RESULT_BYTES, PreparedQuery, plan_query
from speed.epoch.topic_results import TopicResult, results_of_topic

_NOT_READ = "LogNotRead"  # in the message of an error of Kafka
_ALL = -1
_KAFKA = "kafka."


@dataclass(frozen=True)
class TopicPlan:
    """The plans of one topic's results, and its part of the plans in the JVM."""

    results: tuple[tuple[TopicResult, PreparedQuery], ...]
    part: Any


@dataclass(frozen=True)
class PreparedPlans:
    """The plans of a run's topics; ``epoch_plans`` is an EpochPlans of the JVM."""

    topics: dict[Name, TopicPlan]
    epoch_plans: Any

    def run(self, spans: Sequence[Span]) -> list[tuple[TopicResult, pa.Table]] | None:
        """Every result of an epoch's topics; None for an epoch that has to be computed as a big one.

        That is one with a redriven record, with a record larger than its share of ``MAX_INPUT_BYTES``, or whose
        results do not fit into ``MAX_RESULT_BYTES`` together, or would not if each was as large as its input.
        """
        pairs = [pair for name, plan in self.topics.items() if _reads(spans, name) for pair in plan.results]
        payload = self._run(spans, _ALL)
        if not payload:
            return None
        tables = _tables(payload, [plan.schema for _, plan in pairs])
        return [(result, table) for (result, _), table in zip(pairs, tables, strict=True)]

    def failing_result(self, spans: Sequence[Span]) -> TopicResult | None:
        """The first result whose plan fails when it runs alone."""
        for topic, of_topic in groupby(spans, lambda span: span.topic):
            read = list(of_topic)
            for number, (result, _) in enumerate(self.topics[Name(topic)].results):
                try:
                    self._run(read, number)
                except Exception:  # whatever Spark raises: the caller has the error already
                    return result
        return None

    def _run(self, spans: Sequence[Span], only: int) -> bytes:
        lines = "\n".join(f"{span.topic} {span.partition} {span.start} {span.end}" for span in spans)
        largest = MAX_INPUT_BYTES // max(1, sum(span.size for span in spans))
        return bytes(self.epoch_plans.run(lines, only, largest, MAX_RESULT_BYTES))


def is_of_log(error: Exception) -> bool:
    """Whether the records could not be read; then no view is to blame."""
    return _NOT_READ in str(error)


def prepare(
    spark: SparkSession, settings: Settings, catalog: Catalog, run: Run, views: dict[Name, list[View]]
) -> PreparedPlans | None:
    """Plans every topic once; None when a plan keeps results between its runs, so cannot run twice.

    None also where the session does not have the task's class: ``decoder = "plain"`` does without our classes.
    """
    jvm: Any = spark._jvm
    java_class = jvm.org.apache.spark.sql.lk.EpochPlans
    if not is_java_class(java_class):
        return None
    with ThreadPoolExecutor() as pool:  # planning is half of a start, and each topic is planned by itself
        futures = {name: pool.submit(_plan_topic, spark, catalog, java_class, name, views[name]) for name in views}
    plans = {name: plan for name, future in futures.items() if (plan := future.result()) is not None}
    if len(plans) < len(views):
        return None
    options = source_options(settings, 1, run.id)
    kafka = {name.removeprefix(_KAFKA): value for name, value in options.items() if name.startswith(_KAFKA)}
    parts = [plan.part for plan in plans.values()]
    session = spark._jsparkSession
    return PreparedPlans(plans, java_class.make(session, parts, kafka, f"{run.id}-small"))


def _plan_topic(
    spark: SparkSession, catalog: Catalog, java_class: Any, name: Name, views: Sequence[View]
) -> TopicPlan | None:
    topic, session = catalog.topic(name), spark._jsparkSession
    decoded = decode_originals(topic, DataFrame(java_class.records(session, name), spark))
    events = DataFrame(java_class.events(session, name, decoded._jdf.schema()), spark)
    plans = [(result, plan_query(result.frame)) for result in results_of_topic(topic, views, events)]
    usable = tuple((result, plan) for result, plan in plans if plan is not None)
    if len(usable) < len(plans):
        return None
    return TopicPlan(usable, java_class.topic(name, decoded._jdf, [plan.rdd for _, plan in usable]))


def _reads(spans: Sequence[Span], topic: Name) -> bool:
    return any(span.topic == topic for span in spans)


def _tables(payload: bytes, schemas: Sequence[pa.Schema]) -> Iterator[pa.Table]:
    """Tables of an EpochTask's results: of each, a number of Arrow batches, then the length and bytes of each."""
    at = 0
    for schema in schemas:
        (count,), at = struct.unpack_from(">i", payload, at), at + 4
        batches = []
        for _ in range(count):
            (length,), at = struct.unpack_from(">i", payload, at), at + 4
            batches.append(pa.ipc.read_record_batch(pa.py_buffer(payload[at : at + length]), schema))
            at += length
        yield pa.Table.from_batches(batches, schema)
