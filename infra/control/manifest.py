"""Table speed/<run>/_epochs, the manifest of a run: one row for each committed epoch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts
from infra.control import runs
from infra.control.store import TIME
from infra.lake import delta, table_paths
from infra.settings import Settings

EPOCHS = pa.schema(
    [("number", pa.int64())]
    + [(name, pa.string()) for name in ("start", "end", "counted", "rows", "versions")]
    + [("batch_time_ms", pa.int64()), ("committed_at", TIME)]
)
ARCHIVE_EPOCH = -1  # the number of the epoch that was computed from the archive


@dataclass(frozen=True)
class Epoch:
    """One committed micro-batch. ``counted`` has a key ``topic/partition`` for every partition with offsets.

    ``rows`` is the number of rows that the events give each view, counted apart from the grouping. ``versions`` is the
    Delta version of each view's table.
    """

    number: int
    start: Cut
    end: Cut
    counted: Mapping[str, RecordCounts]
    rows: Mapping[Name, int]
    versions: Mapping[Name, int]
    batch_time_ms: int
    committed_at: datetime


def read_epochs(settings: Settings, id: Name) -> tuple[Epoch, ...]:
    """Every committed epoch of a run, in order."""
    path = table_paths.manifest(settings, id)
    if not delta.exists(path):
        return ()
    return tuple(_epoch(row) for row in delta.read(path).sort_by("number").to_pylist())


def last_epoch(settings: Settings, id: Name) -> Epoch | None:
    """The last committed epoch of a run."""
    path = table_paths.manifest(settings, id)
    if not delta.exists(path):
        return None
    opened = delta.table(path)
    last = opened.transaction_version(runs.txn_app(id))
    if last is None and opened.transaction_version(runs.archive_app(id)) is None:
        return None
    number = ARCHIVE_EPOCH if last is None else last
    rows = delta.rows_of(opened, filters=pc.field("number") == number).to_pylist()
    return _epoch(rows[0]) if rows else None


def epoch_at(settings: Settings, id: Name, cut: Cut) -> Epoch | None:
    """The epoch whose end equals the cut in every partition; the start of the run counts as epoch -1."""
    run = runs.read_run(settings, id)
    if run.start == cut and not run.prefix.ends:
        return Epoch(-1, cut, cut, {}, {}, {}, 0, run.created_at)
    return next((epoch for epoch in read_epochs(settings, id) if epoch.end == cut), None)


def epoch_row(epoch: Epoch) -> pa.Table:
    """The manifest row of an epoch."""
    counted = {place: counts.as_list for place, counts in sorted(epoch.counted.items())}
    row: dict[str, Any] = {
        "number": epoch.number,
        "start": str(epoch.start),
        "end": str(epoch.end),
        "counted": json.dumps(counted),
        "rows": json.dumps(dict(epoch.rows), sort_keys=True),
        "versions": json.dumps(dict(epoch.versions), sort_keys=True),
        "batch_time_ms": epoch.batch_time_ms,
        "committed_at": epoch.committed_at,
    }
    return pa.Table.from_pylist([row], schema=EPOCHS)


def _epoch(row: Mapping[str, Any]) -> Epoch:
    return Epoch(
        number=row["number"],
        start=Cut.parse(row["start"]),
        end=Cut.parse(row["end"]),
        counted={key: RecordCounts(*values) for key, values in json.loads(row["counted"]).items()},
        rows={Name(view): n for view, n in json.loads(row["rows"]).items()},
        versions={Name(view): n for view, n in json.loads(row["versions"]).items()},
        batch_time_ms=row["batch_time_ms"],
        committed_at=row["committed_at"],
    )
