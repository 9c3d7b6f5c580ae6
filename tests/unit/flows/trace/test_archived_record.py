"""What Kafka had of a record, from its row in the archive."""

from __future__ import annotations

from datetime import UTC, datetime

from flows.trace.archived_record import raw_of


def test_the_time_of_the_record_is_exact_to_the_millisecond() -> None:
    at = datetime(2004, 8, 7, 17, 37, 40, 143_000, UTC)
    row = {"_key": b"k", "_value": b"v", "_headers": None, "_timestamp": at, "_timestamp_type": None}
    assert raw_of(row).timestamp == 1_091_900_260_143
