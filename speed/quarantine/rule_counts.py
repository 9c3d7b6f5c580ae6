"""Counts quarantined records by topic and rule; of one topic at a time, their positions and rules are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from core.catalog import Catalog
from core.cut import Cut
from core.event_columns import ERROR
from core.identifiers import Name
from infra.control import redrives
from infra.settings import Settings
from speed.quarantine import quarantine_tables

_ORDER = ["_timestamp", "_partition", "_offset"]
_COLUMNS = [*_ORDER, ERROR]
_SCHEMA = pa.schema(
    {"_timestamp": pa.timestamp("us", tz="UTC"), "_partition": pa.int32(), "_offset": pa.int64()} | {ERROR: pa.string()}
)


@dataclass(frozen=True)
class RuleCount:
    """How many records of a topic broke a rule, and the first and last of them by the time of the record.

    A record that broke several rules is counted under each. ``redriven`` of them were sent again repaired.
    """

    topic: Name
    rule: str
    records: int
    redriven: int
    first: str
    first_at: datetime
    last: str
    last_at: datetime


def count_by_rule(settings: Settings, catalog: Catalog, since: Cut) -> list[RuleCount]:
    """The quarantined records from a cut on, each once, counted by topic and rule."""
    return [count for topic in sorted(catalog.topics) for count in _topic_counts(settings, catalog, topic, since)]


def _topic_counts(settings: Settings, catalog: Catalog, topic: Name, since: Cut) -> Iterator[RuleCount]:
    records = _records(settings, catalog, topic, since)
    positions = pc.binary_join_element_wise(
        topic, records["_partition"].cast(pa.string()), records["_offset"].cast(pa.string()), "/"
    )
    sent = pc.is_in(positions, redrives.sent_positions(settings, topic))
    records = records.append_column("redriven", sent.cast(pa.int64()))
    rules = pc.split_pattern(records[ERROR], ",")
    broken = records.take(pc.list_parent_indices(rules)).append_column("rule", pc.list_flatten(rules))
    ends = [(name, end) for end in ("first", "last") for name in _ORDER]
    groups = broken.group_by("rule", use_threads=False).aggregate([([], "count_all"), ("redriven", "sum"), *ends])
    for row in groups.sort_by("rule").to_pylist():
        first, last = (f"{topic}/{row[f'_partition_{end}']}/{row[f'_offset_{end}']}" for end in ("first", "last"))
        times = row["_timestamp_first"], row["_timestamp_last"]
        yield RuleCount(topic, row["rule"], row["count_all"], row["redriven_sum"], first, times[0], last, times[1])


def _records(settings: Settings, catalog: Catalog, topic: Name, since: Cut) -> pa.Table:
    """Coordinates, time and rules of the quarantined records of a topic from a cut on, by time."""
    after = quarantine_tables.from_offsets(since, topic)
    tables = [
        pa.Table.from_batches([batch]).cast(_SCHEMA)
        for batch in quarantine_tables.batches(settings, catalog, topic, _COLUMNS, after)
    ]
    distinct = pa.concat_tables([_SCHEMA.empty_table(), *tables]).group_by(_COLUMNS).aggregate([])
    return distinct.sort_by([(name, "ascending") for name in _ORDER])
