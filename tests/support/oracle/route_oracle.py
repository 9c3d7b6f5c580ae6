"""The expected copies of the log split, in plain Python over the records of the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tests.support.oracle import view_oracle
from tests.support.oracle.view_oracle import Record
from tests.support.records.kafka_log import Headers


class Copy(NamedTuple):
    """A record in an output topic. ``partition`` is the partition of the output."""

    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers


Copies = dict[
    str, dict[tuple[str, int], list[tuple[int, Copy]]]
]  # output -> source partition -> source offsets and copies, in order


def split(
    records: Iterable[Record], headers: Mapping[tuple[str, int, int], Headers], worst: Callable[[Record], int]
) -> Copies:
    """Every record of the log once, in its output and in partition order. ``worst`` is the lowest error status."""
    copies: Copies = {"log_high": {}, "log_low": {}}
    for r in sorted(records, key=lambda r: (r.topic, r.partition, r.offset)):
        copy = Copy(r.partition, r.key, r.value, r.timestamp_ms, headers[r.topic, r.partition, r.offset])
        output = "log_high" if _is_error(r, worst(r)) else "log_low"
        copies[output].setdefault((r.topic, r.partition), []).append((r.offset, copy))
    return copies


def _is_error(record: Record, worst: int) -> bool:
    if record.topic == "access_log":
        fields = view_oracle.decode_record("access_log", record)
        return not isinstance(fields, str) and fields["status"] >= worst
    try:
        fields = json.loads(record.value or b"")
    except ValueError:
        return False
    return fields.get("level") == "ERROR" and isinstance(fields.get("event_time"), int)
