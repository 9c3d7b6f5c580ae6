"""Copies the records of one partition, and commits their position in the same transaction; runs in an executor."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import pyarrow as pa

from core.errors import LkError, TryAgain, as_document
from core.log_mark import mark_of_row
from core.positions import LogPartition
from core.route_ownership import Slice
from infra import faults
from infra.kafka.route_positions import ORIGIN, Position
from infra.kafka.transactions import TIMEOUT_MS, Transaction, transaction
from infra.settings import Settings

COLUMNS = ("_topic", "_partition", "_offset", "_timestamp", "_key", "_value", "_headers", "_output")
OUTCOME = "topic string, partition int, outcome string, error string"

LONGEST = TIMEOUT_MS / 1_000 / 4  # seconds of sending; what is still queued then has as long to arrive

Outcome = Literal["copied", "moved", "failed"]


@dataclass(frozen=True)
class CopyTask:
    """One transaction of a run (``group``): the records to copy, the ownership of its plan, and the output topics.

    ``topics`` are by output, with ``partitions`` each; ``start`` is where the run began in this partition.
    """

    settings: Settings
    group: str
    slice: Slice
    start: int
    ownership: int
    topics: Mapping[str, str]
    partitions: int


def copier(tasks: Mapping[LogPartition, CopyTask]) -> Any:
    """For ``mapInArrow`` over COLUMNS: each Spark task has the records of one partition, in order of offsets."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is not None:
            topic, partition = first["_topic"][0].as_py(), first["_partition"][0].as_py()
            # Once: batches that a failed or an ended transaction has left are no span of their own.
            yield _row(topic, partition, *_outcome(tasks[LogPartition(topic, partition)], chain([first], batches)))
            deque(batches, maxlen=0)

    return run


def copy(task: CopyTask, batches: Iterable[pa.RecordBatch]) -> Outcome:
    """Copies the records. ``moved``, with nothing copied, when the position changed or the ownership has ended.

    A transaction that takes long is committed where it is; the next epoch copies the rest. Without ``batches`` the
    position moves to the end of the span. The reader ends a span only when Kafka has decided on all of its offsets, so
    that those without a record are gaps.
    """
    faults.arm(task.settings)
    span = task.slice.span
    with transaction(task.settings, task.group, span.topic, span.partition, start=task.start) as open_:
        before = open_.position
        if not before.committed:
            raise TryAgain(
                "the position of the run has expired", where=f"group {task.group}, {span.topic}", fix="`lk route start`"
            )
        if before.offset != span.start or before.ownership > task.ownership:
            return "moved"
        counts, began, reached, mark = Counter(before.counts), time.monotonic(), span.end, before.mark
        sent = 0
        for batch in batches:
            counts.update(_send(task, open_, batch))
            sent += batch.num_rows
            (last,) = batch.slice(batch.num_rows - 1).to_pylist()
            mark = mark_of_row(last)
            if time.monotonic() - began > LONGEST:
                reached = batch["_offset"][-1].as_py() + 1
                break
        faults.at("route.1_before_commit")
        gaps = before.gaps + reached - span.start - sent
        open_.commit(Position(reached, counts, task.ownership, mark=mark, gaps=gaps))
    faults.at("route.1_after_commit")
    return "copied"


def _outcome(task: CopyTask, batches: Iterable[pa.RecordBatch]) -> tuple[Outcome, str | None]:
    """Returns an error as an outcome, so that it reaches the driver unchanged and other partitions go on."""
    try:
        return copy(task, batches), None
    except LkError as e:
        return "failed", json.dumps(as_document(e))


def _row(topic: str, partition: int, outcome: Outcome, error: str | None) -> pa.RecordBatch:
    values = {"topic": topic, "partition": partition, "outcome": outcome, "error": error}
    types = (pa.string(), pa.int32(), pa.string(), pa.string())
    columns = {name: pa.array([value], kind) for (name, value), kind in zip(values.items(), types, strict=True)}
    return pa.RecordBatch.from_pydict(columns)


def _send(task: CopyTask, open_: Transaction, batch: pa.RecordBatch) -> Counter[str]:
    span = task.slice.span
    to, where = span.partition % task.partitions, f"{span.topic}/{span.partition}/"
    columns = {name: batch[name].to_pylist() for name in ("_offset", "_key", "_value", "_headers", "_output")}
    times = batch["_timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
    for offset, key, value, headers, output, at in zip(*columns.values(), times, strict=True):
        if output is not None:
            copy_headers = [(header["key"], header["value"]) for header in headers or ()]
            copy_headers.append((ORIGIN, f"{where}{offset}".encode()))
            open_.send(task.topics[output], to, {"key": key, "value": value, "headers": copy_headers, "timestamp": at})
    return Counter(output or "" for output in columns["_output"])
