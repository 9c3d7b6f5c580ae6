"""Milliseconds of a time are exact; those of a float of seconds are one less for one time in a hundred."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from core.unix_time import epoch_millis, in_utc, utc_millis_text, utc_text


def test_a_time_that_a_float_of_seconds_misses() -> None:
    assert epoch_millis(datetime(2004, 8, 7, 17, 37, 40, 143_000, UTC)) == 1_091_900_260_143
    assert int(datetime(2004, 8, 7, 17, 37, 40, 143_000, UTC).timestamp() * 1_000) == 1_091_900_260_142


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)), st.integers(-12 * 60, 12 * 60))
def test_milliseconds_are_those_of_the_calendar(moment: datetime, offset: int) -> None:
    """Of the UTC time, with finer digits cut, whatever the zone."""
    exact = 1_000 * calendar.timegm(moment.timetuple()) + moment.microsecond // 1_000
    zoned = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(minutes=offset)))
    assert epoch_millis(zoned) == exact


def test_the_text_of_a_time_is_in_utc() -> None:
    assert utc_text(datetime(2026, 3, 14, 14, 0, 0, 999, timezone(timedelta(hours=2)))) == "2026-03-14 12:00:00 UTC"
    moment = datetime(2026, 3, 14, 14, 0, 0, 20_999, timezone(timedelta(hours=2)))
    assert utc_millis_text(moment) == "2026-03-14 12:00:00.020 UTC"


def test_a_time_without_a_zone_is_one_of_utc() -> None:
    assert in_utc(datetime(2026, 1, 1)) == datetime(2026, 1, 1, tzinfo=UTC)
    zoned = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert in_utc(zoned) is zoned
