"""Adds totals to the epochs that an older program committed without them."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator

import pyarrow as pa
from deltalake import DeltaTable

from core.identifiers import Name
from core.record_counts import Totals
from infra.control import manifest, runs
from infra.control.epoch_search import last_row_where
from infra.control.manifest import (
    ARCHIVE_EPOCH,
    counts_from_json,
    counts_to_json,
    open_committed,
    read_rows,
    rows_from_json,
)
from infra.lake import idempotent_writes, table_paths
from infra.lake.fence import Fence
from infra.settings import Settings


def store_totals(settings: Settings, id: Name, lease: Fence | None = None) -> None:
    """Stores the totals of epochs that an older program committed without them, in one commit; once for a run."""
    committed = open_committed(settings, id)
    if committed is None:
        return
    opened, last = committed
    if all(row.get("total_rows") for row in read_rows(opened, None, 0)):
        return
    last_without = last_row_where(opened, last, "total_rows", operator.not_)
    schema = pa.schema(opened.schema().to_arrow())
    rows = pa.RecordBatchReader.from_batches(schema, _with_totals(opened, last_without, schema))
    path, app = table_paths.manifest(settings, id), runs.txn_app(id, "_epochs/totals")
    idempotent_writes.overwrite_once(path, rows, f"number <= {last_without:d}", app, 1, lease=lease)


def _with_totals(opened: DeltaTable, last: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows up to number ``last`` with totals."""
    total = Totals()
    for first in range(ARCHIVE_EPOCH, last + 1, manifest.AT_ONCE):
        rows = read_rows(opened, first, min(first + manifest.AT_ONCE - 1, last))
        for row in rows:
            total += Totals(counts_from_json(row["counted"]), rows_from_json(row["rows"]))
            row["total_counted"] = counts_to_json(total.partitions)
            row["total_rows"] = json.dumps(dict(total.rows), sort_keys=True)
        yield from pa.Table.from_pylist(rows, schema=schema).to_batches()
