"""The Spark jobs that a block starts in this thread."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def task_counts(spark: SparkSession) -> Iterator[list[int]]:
    """Fills a list with the number of tasks of each stage that the block runs."""
    context, group = spark.sparkContext, uuid.uuid4().hex
    tracker = context.statusTracker()
    counts: list[int] = []
    context.setJobGroup(group, "counted by a test")
    try:
        yield counts
    finally:
        context._jsc.sc().clearJobGroup()
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        assert info is not None
        stages = [tracker.getStageInfo(stage) for stage in info.stageIds]
        counts += [stage.numTasks for stage in stages if stage is not None]
