"""Where timestamps count from, and the milliseconds of a time: exact, as a float of seconds is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_millis(moment: datetime) -> int:
    """Epoch milliseconds of a time with a zone; finer digits are cut."""
    return (moment - UNIX_EPOCH) // timedelta(milliseconds=1)


def in_utc(moment: datetime) -> datetime:
    """The time itself if it has a zone; otherwise it is one of UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
