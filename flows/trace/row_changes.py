"""The rows of a keyed view that one record changes: the query with it, less the query without it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_events import EVENT, SOURCE, position_of, unpack
from core.compute.keyed_rows import PLACE, result_rows
from core.positions import RecordPosition
from core.view import Keyed
from infra.lake.arrow_types import arrow_schema
from infra.spark.frames import frame_of

_SIGN = "_sign"  # 1 for a row with the record, -1 for a row without it; their sum is 0 where nothing changes
_MOST = 1_000  # rows that are compared further


@dataclass(frozen=True)
class RowChanges:
    """The rows that are there only with a record, and those that would be there only without it.

    Both have the columns of the view's query, in the order of Trino; of very many, some are left out.
    """

    added: pa.Table
    removed: pa.Table

    @property
    def is_empty(self) -> bool:
        """Whether the record changes no row."""
        return not self.added.num_rows and not self.removed.num_rows


def row_changes(
    spark: SparkSession, catalog: Catalog, view: Keyed, position: RecordPosition, events: pa.Table
) -> RowChanges | str:
    """What a record changes, from the packed events of its units; a text says why that is not known."""
    if not any(position_of(json.loads(text)) == position for text in events[EVENT].to_pylist()):
        return "it is not among the events from which the view is served"
    packed = frame_of(spark, events)
    rows = {s: unpack(view, catalog.topic(s), packed.where(fn.col(SOURCE) == s)) for s in view.sources}
    is_it = reduce(and_, (fn.col(column) == fn.lit(value) for column, value in zip(PLACE, position, strict=True)))
    others = {source: frame.where(~is_it) for source, frame in rows.items()}
    columns = view.identifying_columns
    names = [column.name for column in columns]
    both = _signed(view, rows, 1).unionAll(_signed(view, others, -1))
    differing = both.groupBy(*names).agg(fn.sum(_SIGN).alias(_SIGN)).where(fn.col(_SIGN) != 0)
    changed = differing.orderBy(*(fn.asc_nulls_last(name) for name in names)).limit(_MOST).toArrow()
    more = pc.greater(changed[_SIGN], 0)
    added, removed = (changed.filter(one_side).select(names) for one_side in (more, pc.invert(more)))
    return RowChanges(*(part.cast(arrow_schema(columns)) for part in (added, removed)))


def _signed(view: Keyed, rows: dict[str, DataFrame], sign: int) -> DataFrame:
    names = [column.name for column in view.identifying_columns]
    return result_rows(view, rows).select(*names, fn.lit(sign).alias(_SIGN))
