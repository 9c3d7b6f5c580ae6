"""A process that writes a Delta table with Spark or delta-rs: reads a command per line, prints an answer per line.

``append PATH FIRST COUNT`` commits the numbers from FIRST on, one per commit; ``sum PATH`` prints their sum.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import tenacity

from core.errors import TryAgain
from infra.lake import delta, idempotent_writes, object_store
from infra.settings import Settings
from infra.settings.sources import read_settings

SCHEMA = pa.schema([("writer", pa.string()), ("number", pa.int64())])
Append = Callable[[str, str, int], None]


def by_delta_rs(path: str, writer: str, number: int) -> None:
    """Appends as the project does; a concurrent commit of another app is retried."""
    rows = pa.table({"writer": [writer], "number": pa.array([number], pa.int64())}, schema=SCHEMA)
    retrying = tenacity.Retrying(retry=tenacity.retry_if_exception_type(TryAgain), stop=tenacity.stop_after_attempt(20))
    retrying(idempotent_writes.append_once, path, rows, writer, number)


def by_spark(settings: Settings, writer: str) -> tuple[Append, Callable[[str], int]]:
    """Functions that append and sum with a Spark session of the project."""
    from infra.spark.session import session

    spark = session(settings, writer)

    def append(path: str, writer: str, number: int) -> None:
        rows = spark.createDataFrame([(writer, number)], "writer string, number bigint").coalesce(1)
        options = {"txnAppId": writer, "txnVersion": str(number)}
        rows.write.format("delta").mode("append").options(**options).save(path)

    def total(path: str) -> int:
        (row,) = spark.read.format("delta").load(path).groupBy().sum("number").collect()
        return int(row[0])

    return append, total


def main(config: str, kind: str, writer: str) -> None:
    """Executes the commands on standard input until it is closed."""
    settings = read_settings(Path(config))
    object_store.register_stores(settings)
    append, total = by_spark(settings, writer) if kind == "spark" else (by_delta_rs, _total)
    print("ready", flush=True)
    for line in sys.stdin:
        command, path, *numbers = line.split()
        if command == "append":
            first, count = map(int, numbers)
            for number in range(first, first + count):
                append(path, writer, number)
            print("done", flush=True)
        else:
            print(total(path), flush=True)


def _total(path: str) -> int:
    return sum(delta.read(path, ["number"])["number"].to_pylist())


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # the JVM ends by itself
