"""A piece of what an epoch adds to a table: collected, or left in Spark when there may be many rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.view import PROCESSING_TIME, View


@dataclass(frozen=True)
class Rows:
    """Rows as Arrow, or as a frame that is still to be computed."""

    rows: pa.Table | None = None
    frame: DataFrame | None = None


def in_window(view: View, part: Rows, processed_ms: int) -> Rows:
    """The part with the window of processing time that its epoch is in; of any other view the part itself.

    A retried epoch finds the same time in the offset log.
    """
    window = getattr(view, "window", None)
    if window is None or window.over != PROCESSING_TIME:
        return part
    start = processed_ms - processed_ms % window.size
    if part.frame is not None:
        return Rows(frame=part.frame.withColumn(window.name, fn.timestamp_millis(fn.lit(start))))
    assert part.rows is not None
    at = part.rows.schema.get_field_index(window.name)
    starts = pa.array(
        [datetime.fromtimestamp(start / 1_000, UTC)] * part.rows.num_rows, part.rows.schema.field(at).type
    )
    return Rows(rows=part.rows.set_column(at, window.name, starts))
