"""Files of measured values: Parquet, a column for each field of a Measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import Refused
from core.evidence.measurement import Measurement

_TEXTS = ("question", "mode", "situation", "part", "view")
SCHEMA = pa.schema(
    [(name, pa.string()) for name in _TEXTS]
    + [("size", pa.int64()), ("repetition", pa.int64()), ("x", pa.float64()), ("value", pa.float64())]
    + [("busy", pa.bool_()), ("at", pa.timestamp("us", "UTC"))]
)


def read(path: Path) -> list[Measurement]:
    """The rows of a file, or of all files in a folder and below it, in the order of their names."""
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    return [Measurement(**row) for file in files for row in _table(file).to_pylist()]


def write(path: Path, measurements: Sequence[Measurement]) -> None:
    """Writes rows as one file, which is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in measurements], schema=SCHEMA), part)
    part.replace(path)


def _table(file: Path) -> pa.Table:
    try:
        return pq.read_table(file, schema=SCHEMA)
    except (OSError, pa.ArrowException) as error:
        raise Refused(
            f"the rows cannot be read: {error}", where=str(file), fix="delete the file and run `lk study` again"
        ) from error
