"""The results of an epoch, and the checks that their counts account for every offset and every event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from core.catalog import Catalog
from core.cut import Span
from core.errors import NEW_RUN, Refused
from core.identifiers import Name
from core.record_counts import RecordCounts
from core.view import ROWS
from speed.epoch.offset_log import PlannedEpoch
from speed.epoch.topic_results import Rows


@dataclass(frozen=True)
class EpochResults:
    """All results of an epoch, before any of them is written; ``partials`` of a keyed view are its new events."""

    counted: Mapping[str, RecordCounts]
    view_rows: Mapping[Name, int]
    quarantine: list[Rows]
    partials: dict[Name, list[Rows]]


def require_all_offsets(catalog: Catalog, counts: Sequence[dict[str, Any]], planned: PlannedEpoch) -> None:
    """Raises Refused unless the counts account for every offset of the epoch."""
    by_partition = {(row["_topic"], row["_partition"]): row for row in counts}
    for span in planned.spans:
        row = by_partition.get((span.topic, span.partition))
        if not (_is_within(row, span) if catalog.topic(span.topic).compacted else _is_whole(row, span)):
            raise Refused(
                f"record counts do not match the offset range: expected offsets {span.start} to {span.end}, "
                f"counted {row}",
                where=f"{span.topic}, partition {span.partition}, epoch {planned.number}",
                fix="topics must not be transactional, and compacted ones must be declared so; see `lk logs`",
            )


def _is_whole(row: dict[str, Any] | None, span: Span) -> bool:
    """Every offset of the span is a record."""
    expected = (span.size, span.start, span.end - 1)
    return row is not None and (row["records"], row["first_offset"], row["last_offset"]) == expected


def _is_within(row: dict[str, Any] | None, span: Span) -> bool:
    """Every record is in the span, once; compaction may have removed some of the span's records, or all."""
    if row is None:
        return True
    first, last = row["first_offset"], row["last_offset"]
    return bool(span.start <= first <= last < span.end and row["records"] <= last - first + 1)


def require_same_counts(results: EpochResults, planned: PlannedEpoch, rollups: Sequence[Name]) -> None:
    """The hidden counts of partial rows, or the number of events of a keyed view, equal the count event by event."""
    for view, parts in results.partials.items():
        if any(rows.table is None for rows in parts):
            continue
        tables = [rows.table for rows in parts if rows.table is not None]
        grouped = sum((pa.compute.sum(t[ROWS]).as_py() or 0) if view in rollups else t.num_rows for t in tables)
        if grouped != results.view_rows[view]:
            raise Refused(
                f"counts of view {view} differ: {grouped} rows were grouped, {results.view_rows[view]} were counted",
                where=f"epoch {planned.number}",
                fix=f"the definition is not deterministic: correct it, then {NEW_RUN}",
            )
