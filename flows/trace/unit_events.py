"""The events of a record's units from which a keyed view is served: those that the run keeps, else the archive's."""

from __future__ import annotations

from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_events import EVENT, HASH, TIME, pack
from core.compute.segments import reach_width
from core.identifiers import Name
from core.view import Keyed
from flows.trace.cells import guarded
from infra.control import manifest
from infra.control.pins import Pin
from infra.lake import archive
from infra.settings import Settings
from speed.epoch.kept_events import few_events
from speed.epoch.prepared_query import MAX_INPUT_BYTES

_MOST_ARCHIVED = 1_000_000  # records of the archives that are searched for events of one key: nothing sorts them by key
_MOST_EVENTS = 100_000  # of one key, and no more than MAX_INPUT_BYTES, before they are taken into this process


def unit_events(
    spark: SparkSession, settings: Settings, catalog: Catalog, view: Keyed, pin: Pin, packed: pa.Table
) -> pa.Table | str:
    """The packed events of the units of one record, its own among them; ``packed`` is its own.

    A text says why they cannot be read. Events of other keys or units may be among them.
    """
    read = partial(_of_run if pin.run else _of_archives, spark, settings, catalog, view, pin, packed)
    return guarded(read, lambda why: why)


def _of_run(
    _: SparkSession, settings: Settings, __: Catalog, view: Keyed, pin: Pin, packed: pa.Table
) -> pa.Table | str:
    assert pin.run is not None
    last = manifest.last_epoch(settings, pin.run)
    events = few_events(settings, pin.run, view, last.number if last else manifest.ARCHIVE_EPOCH, packed)
    return f"run {pin.run} keeps no events of its key, or too many" if events is None else events


def _of_archives(
    spark: SparkSession, settings: Settings, catalog: Catalog, view: Keyed, pin: Pin, packed: pa.Table
) -> pa.Table | str:
    topics = [catalog.topic(source) for source in view.sources]
    fix = "run `lk land`"
    archives = [
        archive.archive_up_to(settings, topic, catalog.decoder(Name(topic.name)), pin.cut.only([topic.name]), fix)
        for topic in topics
    ]
    if sum(file.records for landed in archives for file in landed.files) > _MOST_ARCHIVED:
        return f"the archives have more than {_MOST_ARCHIVED:,} records, and no run that is served keeps events by key"
    near = fn.col(HASH).isin(packed[HASH].to_pylist())
    if view.reach is not None:
        width, times = reach_width(view), pc.min_max(packed[TIME]).as_py()
        near &= fn.col(TIME).between(times["min"] - width, times["max"] + width)
    frames = [
        pack(view, topic, archive.rows_below(spark, landed, pin.cut)).where(near)
        for topic, landed in zip(topics, archives, strict=True)
    ]
    events = reduce(DataFrame.unionAll, frames)
    ((count, size),) = events.agg(fn.count(fn.lit(1)), fn.sum(fn.octet_length(EVENT))).collect()
    if count > _MOST_EVENTS or (size or 0) > MAX_INPUT_BYTES:
        return f"its key has {count:,} events of {size:,} bytes together, too many to compare"
    return events.toArrow()
