"""Spark's AOT cache, written during set-up: each later start takes loaded classes and profiles of methods from it."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from core.catalog import Catalog
from core.decoding.decode import decode
from core.sample_data.records import records
from core.sample_spec import SampleSpec
from core.topic import Topic
from infra.definitions import definition_files, sql_problems
from infra.progress_bar import bar, console
from infra.settings import Settings
from infra.spark.frames import frame_of
from infra.spark.session import stop_jvm, temporary_session
from infra.spark.session_conf import aot_cache_file, training_conf
from speed.epoch.topic_results import results_of_cached, results_of_topic, rows_to_cache

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NEW_YEAR_MS = 1_767_225_600_000
_FEW, _MANY = 1_000, 50_000  # records of an epoch


def write_aot_cache(settings: Settings) -> bool:
    """Trains Java with what the verbs do: plans every view, decodes and groups records, writes and reads Delta tables.

    Java writes the cache as it ends. Returns False and does nothing if there is one, or none can be written.
    """
    cache = aot_cache_file(settings)
    if cache is None or cache.is_file() or not os.access(sys.prefix, os.W_OK):
        return False
    console().print("Preparing Spark: its AOT cache, once (about 45 s, 200 MB)", highlight=False)
    cache.parent.mkdir(exist_ok=True)
    for outdated in [*cache.parent.glob("*spark-*.aot*"), cache.parent / "spark.jsa"]:
        outdated.unlink(missing_ok=True)
    part = cache.with_name(f".{os.getpid()}-{cache.name}")
    with tempfile.TemporaryDirectory() as folder, bar("preparing Spark"):
        # Without the user's own views: a mistake in one of them must not fail the set-up.
        scratch = settings.model_copy(update={"data": Path(folder), "spark_master": "local[2]", "views": ()})
        try:
            with temporary_session(scratch, "prepare", training_conf(scratch, part)) as spark:
                _train(spark, definition_files.load(scratch), Path(folder))
            stop_jvm()
            if part.is_file():
                part.replace(cache)
            else:
                console().print("Java wrote no AOT cache: Spark starts slower", highlight=False)
        finally:
            part.unlink(missing_ok=True)
    return cache.is_file()


def _train(spark: SparkSession, catalog: Catalog, folder: Path) -> None:
    sql_problems.spark_check(spark, catalog)
    _stream(spark, folder)
    for topic in (topic for topic in catalog.topics.values() if topic.generator is not None):
        views = catalog.reading(topic.name)
        few, many = (decode(topic, _records(spark, topic, count)) for count in (_FEW, _MANY))
        for result in results_of_topic(topic, views, few):
            result.frame.toArrow()
        many.write.format("delta").save(str(folder / topic.name))
        rows = rows_to_cache(topic, views, many).persist()
        for result in results_of_cached(topic, views, rows):
            result.frame.toArrow()
        rows.unpersist()


def _records(spark: SparkSession, topic: Topic, count: int) -> DataFrame:
    """Generated records with the columns of Kafka's source."""
    samples = list(records(topic, SampleSpec(1, _NEW_YEAR_MS), count))
    columns = {
        "key": pa.array([sample.key for sample in samples], pa.binary()),
        "value": pa.array([sample.value for sample in samples], pa.binary()),
        "topic": pa.array([topic.name] * len(samples)),
        "partition": pa.array([0] * len(samples), pa.int32()),
        "offset": pa.array(range(len(samples)), pa.int64()),
        "timestamp": pa.array([sample.at * 1_000 for sample in samples], pa.timestamp("us", tz="UTC")),
        "timestampType": pa.array([0] * len(samples), pa.int32()),
    }
    return frame_of(spark, pa.table(columns))


def _stream(spark: SparkSession, folder: Path) -> None:
    table, is_written = str(folder / "table"), threading.Event()

    def write(rows: DataFrame, _number: int) -> None:
        rows.write.format("delta").mode("append").save(table)
        is_written.set()

    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch="10", numPartitions="1").load()
    stream = source.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query = stream.trigger(availableNow=True).start()
    query.awaitTermination(20)
    while query.isActive and not is_written.wait(1):  # the first batch takes longer on a busy machine
        pass
    query.stop()
    spark.read.format("delta").load(table).groupBy("timestamp").count().collect()
