"""Spark's class archive (CDS), written during set-up; otherwise the first Spark process would write it as it ends."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from infra.definitions import definition_files
from infra.progress_bar import bar, console
from infra.runtime.java import archive_file, class_archive
from infra.settings import Settings
from infra.spark.session import stop_jvm, temporary_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def write_class_archive(settings: Settings) -> bool:
    """Plans every view, writes and reads a Delta table and runs a stream, so that Java loads the classes of each.

    Java writes the archive as it ends. Returns False and does nothing if there is one, or none can be written.
    """
    if not class_archive("spark") or archive_file("spark").is_file():
        return False
    console().print("Preparing Spark: its class archive, once (about 20 s)", highlight=False)
    with tempfile.TemporaryDirectory() as folder, bar("preparing Spark"):
        # Without the user's own views: a mistake in one of them must not fail the set-up.
        scratch = settings.model_copy(update={"data": Path(folder), "spark_master": "local[2]", "views": ()})
        with temporary_session(scratch, "prepare") as spark:
            definition_files.spark_problems(spark, definition_files.load(scratch))
            _stream(spark, Path(folder))
        stop_jvm()
    return True


def _stream(spark: SparkSession, folder: Path) -> None:
    table = str(folder / "table")

    def write(rows: DataFrame, _number: int) -> None:
        rows.write.format("delta").mode("append").save(table)

    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch="10", numPartitions="1").load()
    stream = source.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query = stream.trigger(availableNow=True).start()
    query.awaitTermination(20)
    query.stop()
    spark.read.format("delta").load(table).groupBy("timestamp").count().collect()
