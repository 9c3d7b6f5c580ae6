"""Where timestamps count from, the exact milliseconds of a time, which a float of seconds is not, and its text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_millis(moment: datetime) -> int:
    """Epoch milliseconds of a time with a zone; finer digits are cut."""
    return (moment - UNIX_EPOCH) // timedelta(milliseconds=1)


def utc_text(moment: datetime) -> str:
    """A time with a zone as people and Trino read it, to the second: 2026-03-14 12:00:00 UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def utc_millis_text(moment: datetime) -> str:
    """The same to the millisecond: 2026-03-14 12:00:00.500 UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + " UTC"


def in_utc(moment: datetime) -> datetime:
    """The time itself if it has a zone; otherwise it is one of UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
