"""What the definitions make of one record: decoded and computed in Spark, by the functions that every layer uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from core.catalog import Catalog
from core.compute.keyed_events import pack
from core.compute.keyed_rows import source_rows, touched_units
from core.compute.partial_rows import partial
from core.decoding.decode import decode
from core.event_columns import ERROR, RAW_COLUMNS
from core.identifiers import Name
from core.positions import RecordPosition
from core.topic import Topic
from core.view import Keyed, View
from flows.trace.cells import MOST_ROWS, row_of
from flows.trace.kafka_record import RawRecord
from flows.trace.row_changes import RowChanges, row_changes
from flows.trace.stages import Decoded
from flows.trace.unit_events import unit_events
from infra.control.pins import Pin
from infra.lake.arrow_types import arrow_schema
from infra.settings import Settings
from infra.spark.few_rows import session_for_few_rows
from infra.spark.frames import frame_of

_KAFKA = pa.schema(
    {"key": pa.binary(), "value": pa.binary(), "topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
    | {"timestamp": pa.timestamp("us", tz="UTC"), "timestampType": pa.int32()}
    | {"headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()}))}
)


@dataclass(frozen=True)
class Computed:
    """The decoded record, and by view the rows that it alone gives.

    ``rows`` are partial rows of a rollup, or units of a keyed view, at most ``MOST_ROWS`` + 1; windows of processing
    time start at 1970. ``kept`` has the packed event of a keyed view, with its hash. ``changes`` are those of a keyed
    view that is served and takes the record; a text says why they are not known.
    """

    decoded: Decoded
    rows: Mapping[Name, pa.Table] = field(default_factory=dict)
    kept: Mapping[Name, pa.Table] = field(default_factory=dict)
    changes: Mapping[Name, RowChanges | str] = field(default_factory=dict)


def compute(
    settings: Settings,
    catalog: Catalog,
    position: RecordPosition,
    raw: RawRecord,
    views: Sequence[Name],
    pins: Mapping[Name, Pin],
) -> Computed:
    """Decodes one record and computes the views over it alone, in Spark on this machine.

    Keyed views that are served, by ``pins``, are computed with and without it, too. Raises Refused when Spark cannot
    compute a view.
    """
    with session_for_few_rows(settings, "trace", "this record", where=f"views {', '.join(views)}") as spark:
        return _compute(spark, settings, catalog, position, raw, views, pins)


def _compute(
    spark: SparkSession,
    settings: Settings,
    catalog: Catalog,
    position: RecordPosition,
    raw: RawRecord,
    views: Sequence[Name],
    pins: Mapping[Name, Pin],
) -> Computed:
    topic = catalog.topic(position.topic)
    decoded = decode(topic, frame_of(spark, _kafka_row(position, raw))).toArrow()
    events = frame_of(spark, decoded)
    rows, kept, changes = dict[Name, pa.Table](), dict[Name, pa.Table](), dict[Name, RowChanges | str]()
    for name in views:
        view = catalog.view(name)
        rows[name] = _rows(view, topic, events)
        if isinstance(view, Keyed):
            kept[name] = pack(view, topic, events).toArrow()
            pin = pins.get(name)
            if pin and pin.digest == catalog.digest(name) and kept[name].num_rows:
                of_units = unit_events(spark, settings, catalog, view, pin, kept[name])
                is_read = isinstance(of_units, pa.Table)
                changes[name] = row_changes(spark, catalog, view, position, of_units) if is_read else of_units
    return Computed(_decoded(decoded), rows, kept, changes)


def _rows(view: View, topic: Topic, events: DataFrame) -> pa.Table:
    """The first rows, by key, that the record gives the view, in the types that tables store."""
    if isinstance(view, Keyed):
        columns = view.unit_columns
        frame = touched_units(view, [source_rows(view, topic, events)])
    else:
        columns, frame = view.stored_columns, partial(view, topic, events)
    order = [column.name for column in (view.unit_columns if isinstance(view, Keyed) else view.key_columns)]
    first = frame.orderBy(*order).limit(MOST_ROWS + 1) if order else frame
    return first.toArrow().select([column.name for column in columns]).cast(arrow_schema(columns))


def _decoded(row: pa.Table) -> Decoded:
    (cells,) = row.to_pylist()
    source = "Spark, now, by today's definition"
    if cells[ERROR]:
        return Decoded("quarantined", source, None, tuple(cells[ERROR].split(",")))
    return Decoded("event", source, row_of({name: value for name, value in cells.items() if name not in RAW_COLUMNS}))


def _kafka_row(position: RecordPosition, raw: RawRecord) -> pa.Table:
    row = {
        "key": raw.key,
        "value": raw.value,
        "topic": position.topic,
        "partition": position.partition,
        "offset": position.offset,
        "timestamp": raw.timestamp * 1_000,
        "timestampType": raw.timestamp_type,
        "headers": [{"key": name, "value": value} for name, value in raw.headers] or None,
    }
    return pa.Table.from_pylist([row], _KAFKA)
