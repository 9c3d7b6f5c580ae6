"""Decodes the records of the programs' topics to events, in plain Python. Skips invalid records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.support.oracle import view_oracle
from tests.support.oracle.program_oracle import Event
from tests.support.oracle.view_oracle import EPOCH, Record

_DELETED: dict[str, dict[str, None]] = {"profiles": {"city": None, "level": None}, "preferences": {"theme": None}}
_NUMBERS = {"amount", "paid", "celsius"}


def events(records: Iterable[Record]) -> list[Event]:
    """The events of the valid records, in the order of the records."""
    decoded = ((record, _event(record)) for record in records)
    return [
        {**fields, "topic": r.topic, "partition": r.partition, "offset": r.offset, "logged": r.timestamp_ms}
        for r, fields in decoded
        if fields is not None
    ]


def _event(record: Record) -> dict[str, Any] | None:
    if record.topic in ("trades", "access_log"):
        event = view_oracle.decode_record(record.topic, record)
        if isinstance(event, str):
            return None
        return {**event, "at": (event["event_time"] - EPOCH) // timedelta(milliseconds=1)}
    if record.topic in _DELETED and record.value is None:
        return {"user_id": (record.key or b"").decode(), **_DELETED[record.topic], "at": record.timestamp_ms}
    try:
        text = (record.value or b"").decode()
    except UnicodeDecodeError:
        if record.topic != "preferences":
            return None
        return {"user_id": (record.key or b"").decode(), "theme": None, "unknown": True, "at": record.timestamp_ms}
    if record.topic == "lines":
        return {"line": text, "at": record.timestamp_ms}
    fields = json.loads(text, parse_float=str)
    numbers = {name: Decimal(fields[name]) for name in _NUMBERS & fields.keys()}
    return {**fields, **numbers, "at": fields.get("event_time", record.timestamp_ms)}
