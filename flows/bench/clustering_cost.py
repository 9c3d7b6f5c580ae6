"""Epochs of a keyed view without a reach, over more and more kept events.

The kept events are written in bulk, in the form and the order in which epochs would write them, and then clustered by
the same function as in a run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from core.catalog import Catalog
from core.compute.keyed_events import pack
from core.event_columns import ERROR, decoded_columns
from core.identifiers import Name
from core.topic import EVENT_TIME
from core.view import Keyed
from flows import speed
from flows.bench.stream_programs import epoch_seconds
from flows.measure import load
from flows.measure.figures import Figure
from infra.control import runs
from infra.control.manifest import ARCHIVE_EPOCH
from infra.kafka.input_files import OutgoingRecord
from infra.kafka.producer import produce
from infra.lake import compaction, leases, table_paths
from infra.settings import Settings
from infra.spark.session import temporary_session
from speed.tables import clustering, schemas

VIEW, TOPIC = Name("readings_gaps"), Name("readings")
FILES = (TOPIC, VIEW)
COUNTS = (500_000, 5_000_000, 50_000_000)
_DEVICES = 1_000_000  # they take turns
_PART = 2_500_000  # events between two clusterings
_KEYS, _EVENTS = 200, 1_000
_WARM = 10  # epochs before the first measurement, while the JVM compiles


@dataclass(frozen=True)
class KeptInstance:
    """An instance with one topic and one keyed view without a reach."""

    settings: Settings
    catalog: Catalog
    config: Path


def fill(settings: Settings, catalog: Catalog, config: Path) -> KeptInstance:
    """An instance whose run has made its tables."""
    speed.start(settings, catalog)
    speed.stop(settings)
    return KeptInstance(settings, catalog, config)


def epochs(kept: KeptInstance, repeat: int) -> list[Figure]:
    """Seconds of the same epoch over each of COUNTS events."""
    run = runs.read_runs(kept.settings)[-1].id
    seconds = []
    for before, count in pairwise((0, *COUNTS)):
        _keep(kept, run, range(before, count))
        seconds.append(_epochs(kept, run, repeat))
    ratio = tuple(large / small for small, large in zip(seconds[0], seconds[-1], strict=True))
    how = (
        f"{_EVENTS:,} readings of {_KEYS} devices, sent at once to a run of {VIEW}, which has no reach; {_DEVICES:,} "
        f"devices; from the start of the epoch to its commit, after {_WARM} such epochs"
    )
    figures = [
        Figure(f"kept {count // 1_000:,}k", f"an epoch over {count:,} kept events", "s", measured, how=how)
        for count, measured in zip(COUNTS, seconds, strict=True)
    ]
    what = f"{COUNTS[-1] // COUNTS[0]} times the kept events"
    return [*figures, Figure("kept ratio", what, "×", ratio)]


def _keep(kept: KeptInstance, run: Name, numbers: range) -> None:
    """Adds these events to those that the run keeps."""
    path = table_paths.events(kept.settings, run, VIEW)
    with (
        temporary_session(kept.settings, "bench") as spark,
        leases.hold(kept.settings, f"run_{run}", fenced=[path]) as lease,
    ):
        for start in range(numbers.start, numbers.stop, _PART):
            rows = _packed(kept.catalog, _decoded(spark, kept.catalog, start, min(start + _PART, numbers.stop)))
            writer = rows.write.format("delta").mode("append")
            writer.option("maxRecordsPerFile", schemas.FILE_ROWS).save(path)
            while clustering.cluster(path, lease):
                pass
            compaction.checkpoint(path)


def _packed(catalog: Catalog, events: DataFrame) -> DataFrame:
    view = catalog.view(VIEW)
    assert isinstance(view, Keyed)
    rows = pack(view, catalog.topic(TOPIC), events).withColumn("epoch", fn.lit(ARCHIVE_EPOCH).cast("bigint"))
    return rows.select(*schemas.events_schema().names)


def _decoded(spark: SparkSession, catalog: Catalog, start: int, end: int) -> DataFrame:
    """Readings with these numbers, as the decoder gives them; a second apart."""
    columns = decoded_columns(catalog.topic(TOPIC))
    values = {
        "device": fn.concat(fn.lit("d"), fn.col("id") % _DEVICES),
        "seq": fn.floor(fn.col("id") / _DEVICES),
        "celsius": (fn.col("id") % 4_000 - 1_000) / 100,
        EVENT_TIME: fn.timestamp_seconds(fn.col("id")),
        "_topic": fn.lit(TOPIC),
        "_partition": fn.lit(0),
        "_offset": fn.col("id") - COUNTS[-1],  # below those in the log
        ERROR: fn.lit(None),
    }
    shown = [values.get(name, fn.lit(None)).cast(kind).alias(name) for name, kind in columns.items()]
    return spark.range(start, end).select(*shown)


def _epochs(kept: KeptInstance, run: Name, repeat: int) -> tuple[float, ...]:
    speed.start(kept.settings, kept.catalog)
    load.wait_for_lag_zero(kept.settings, run, 600)
    seconds = [epoch_seconds(kept.settings, run, partial(_send, kept, turn)) for turn in range(_WARM + repeat)]
    speed.stop(kept.settings)
    return tuple(seconds[_WARM:])


def _send(kept: KeptInstance, turn: int) -> None:
    """Sends readings of devices that no earlier turn had."""
    now, topic = time.time_ns() // 1_000_000, kept.catalog.topic(TOPIC)
    records = []
    for number in range(_EVENTS):
        device = f"d{(turn * _KEYS + number % _KEYS) * 4_999 % _DEVICES}"
        value = f'{{"device":"{device}","seq":{1_000 + number // _KEYS},"celsius":"20.00","event_time":{now}}}'
        records.append(OutgoingRecord(device.encode(), value.encode()))
    produce(kept.settings, topic, iter(records), draw=False).require_complete()
