"""Computes a view over probe events as a run does: the rows that it stores, and the rows that it counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from core.compute.partial_rows import partial, record_counts
from core.topic import Topic
from core.validation.mistake import Mistake, mistake_in
from core.view import ROWS, Keyed, Rollup
from infra.definitions.spark_errors import SPARK_ERRORS, short_message


def rollup_mistakes(view: Rollup, topic: Topic, events: DataFrame) -> Iterator[Mistake]:
    """The mistake of a rollup whose rows cannot be computed or counted, or are not as many as those counted.

    Both are computed in one Spark job.
    """
    try:
        counts = record_counts([view], events)
        rows = partial(view, topic, events)
        both = _every_cell(rows, fn.col(ROWS)).unionAll(_every_cell(counts, -fn.col(f"rows_{view.name}")))
        difference = sum(row["_n"] for row in both.collect())
    except SPARK_ERRORS as e:
        yield mistake_in(view, f"from {topic.name}: {short_message(e)}")
        return
    if difference:
        what = f"the rows computed and those counted per event differ by {abs(difference)}"
        yield mistake_in(view, f"from {topic.name}: {what}")


def count_mistakes(view: Keyed, events: Mapping[str, DataFrame]) -> Iterator[Mistake]:
    """The mistakes of a keyed view whose events with a key cannot be counted in a source; Spark only plans."""
    for source, frame in events.items():
        try:
            record_counts([view], frame)
        except SPARK_ERRORS as e:
            yield mistake_in(view, f"from {source}: {short_message(e)}")


def _every_cell(frame: DataFrame, n: Column) -> DataFrame:
    """A number of each row, and a hash of all its cells, so that Spark computes them all."""
    return frame.select(n.alias("_n"), fn.xxhash64(*frame.columns).alias("_cells"))
