"""Entries of a Delta log that this project writes itself: a commit that appends one file to a table in a local folder.

The format is Delta's protocol (https://github.com/delta-io/delta/blob/master/PROTOCOL.md), actions `commitInfo`, `txn`
and `add`. Every other commit is delta-rs's or Spark's.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from infra import clock
from infra.lake import delta_log

GROUP_ROWS = 5_000  # a reader of one epoch decodes one row group
_COUNTED = 32  # columns with statistics, as in Delta's default
_LONGEST = 64  # characters of a text that has statistics; a longer one would have to be cut


def write_file(path: str, rows: pa.Table) -> dict[str, Any]:
    """Writes rows, which are not empty, into a new Parquet file of a table; returns its `add` action.

    The file belongs to no version yet. Vacuum deletes that of a writer that was killed before its commit.
    """
    file = Path(path, f"part-{uuid4()}.parquet")
    pq.write_table(rows, file, row_group_size=GROUP_ROWS, compression="snappy")
    add = {
        "path": file.name,
        "partitionValues": {},
        "size": file.stat().st_size,
        "modificationTime": clock.now_ms(),
        "dataChange": True,
        "stats": json.dumps(statistics(rows)),
    }
    return {"add": add}


def commit(path: str, version: int, add: Mapping[str, Any], txns: Mapping[str, int]) -> bool:
    """Commits an `add` action and the `txn` actions as this version; False when the version exists already."""
    info = {
        "timestamp": clock.now_ms(),
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "engineInfo": "lambda-kappa",
    }
    transactions = [{"txn": {"appId": app, "version": number}} for app, number in txns.items()]
    actions = [{"commitInfo": info}, add, *transactions]
    entry = Path(path, delta_log.entry(version))
    part = entry.with_name(f"_commit_{uuid4()}.json.tmp")  # delta-rs's name of such a file
    try:
        part.write_text("\n".join(map(json.dumps, actions)), "utf-8")
        os.link(part, entry)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True


def statistics(rows: pa.Table) -> dict[str, Any]:
    """The statistics of a file's rows, as Delta's protocol has them: of integers, times and short texts."""
    bounds = {}
    for name in rows.column_names[:_COUNTED]:
        with contextlib.suppress(ValueError, OverflowError):  # a time after the year 9999 is none in Python
            bounds[name] = _bounds(rows[name])
    bounded = {name: ends for name, ends in bounds.items() if ends is not None}
    return {
        "numRecords": rows.num_rows,
        "minValues": {name: low for name, (low, _) in bounded.items()},
        "maxValues": {name: high for name, (_, high) in bounded.items()},
        "nullCount": {name: rows[name].null_count for name in bounded},
    }


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """The smallest and the largest value as JSON has them; None for a column without statistics."""
    kind = column.type
    if pa.types.is_string(kind):
        if (pc.max(pc.utf8_length(column)).as_py() or 0) > _LONGEST:
            return None
    elif not (pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return None
    ends = pc.min_max(column).as_py()
    if ends["min"] is None:
        return None
    if pa.types.is_timestamp(kind):
        return _time(ends["min"]), _time(ends["max"])
    if pa.types.is_date(kind):
        return ends["min"].isoformat(), ends["max"].isoformat()
    return ends["min"], ends["max"]


def _time(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
