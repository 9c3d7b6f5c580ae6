"""Times are recognized in a few formats, and read as Spark reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.new_topic.time_formats import iso_utc, time_format_of

SECONDS = "if(t rlike '^[0-9]{10}([.][0-9]{1,9})?$', rpad(replace(t, '.', ''), 13, '0'), t)"
TIMES = st.datetimes(datetime(1971, 1, 1), datetime(2199, 12, 30))


@pytest.mark.parametrize(
    ("text", "time_format", "upcast", "millis"),
    [
        ("1767225640000", None, None, 1767225640000),
        ("1767225640.25", None, SECONDS, 1767225640250),
        ("1767225640.123999999", None, SECONDS, 1767225640123),
        ("1767225640", None, "if(t rlike '^[0-9]{10}$', concat(t, '000'), t)", 1767225640000),
        ("1767225640000999", None, "if(t rlike '^[0-9]{16}$', substring(t, 1, 13), t)", 1767225640000),
        ("1767225640000999999", None, "if(t rlike '^[0-9]{19}$', substring(t, 1, 13), t)", 1767225640000),
        ("2026-01-01T00:00:40Z", "yyyy-MM-dd'T'HH:mm:ssXXX", None, 1767225640000),
        ("2026-01-01T01:00:40.5+01:00", "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS]XXX", None, 1767225640500),
        ("2026-01-01 00:00:40.123456789", "yyyy-MM-dd HH:mm:ss[.SSSSSSSSS]", None, 1767225640123),
        ("2026-01-01T01:00:40.500+0100", "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS]XX", None, 1767225640500),
        ("2026-01-01T00:00:40+0000", "yyyy-MM-dd'T'HH:mm:ssXX", None, 1767225640000),
        ("2026-01-01 02:00:40+02", "yyyy-MM-dd HH:mm:ssX", None, 1767225640000),
        ("2026-01-01", "yyyy-MM-dd", None, 1767225600000),
        ("01/Jan/2026:01:00:40 +0100", "dd/MMM/yyyy:HH:mm:ss Z", None, 1767225640000),
    ],
)
def test_each_format(text: str, time_format: str | None, upcast: str | None, millis: int) -> None:
    guess = time_format_of([text, text])
    assert guess
    assert (guess.time_format, guess.upcast("t"), guess.millis(text)) == (time_format, upcast, millis)


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-02-30"],
        ["2026-01-01T25:00:00Z"],
        ["2026-01-01T00:00:00"] * 2 + ["2026-01-01T00:00:00Z"],
        ["2026-01-01T00:00:00Z", "2026-01-01 00:00:00Z"],
        ["1767225640", "1767225640000"],
        ["0000000000"],  # 1970
        ["9999999999"],  # 2286
        ["2026-01-01T00:00:00+19:00"],
        ["2026-01-01T00:00:00+1900"],
        ["2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00+0100"],
        ["1767225640."],
        ["1767225640.1234567890"],
        ["1767225640000.5"],
        ["x"],
        ["٢٠٢٦-01-01"],  # digits of another script
    ],
)
def test_what_is_no_time_in_one_format(texts: list[str]) -> None:
    assert time_format_of(texts) is None


def test_times_of_one_field_may_differ_in_what_one_format_reads() -> None:
    for texts, time_format in (
        (("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000+0000"), "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS]XX"),
        (("2026-01-01T00:00:00+0130", "2026-01-01T00:00:00Z"), "yyyy-MM-dd'T'HH:mm:ssXX"),
        (("2026-01-01 00:00:00+05", "2026-01-01 00:00:00+0530"), "yyyy-MM-dd HH:mm:ssX"),
        (("1767225640", "1767225640.5"), None),
    ):
        guess = time_format_of(texts)
        assert guess
        assert (guess.time_format, guess.has_zone) == (time_format, True)


@given(TIMES, st.integers(-14, 14), st.integers(0, 9))
def test_a_time_is_the_same_in_every_zone_and_with_every_number_of_digits(
    time: datetime, hours: int, digits: int
) -> None:
    zone = timezone(timedelta(hours=hours))
    fraction = f".{time.microsecond:06d}000"[: digits + 1] if digits else ""
    text = f"{time:%Y-%m-%dT%H:%M:%S}{fraction}{'-' if hours < 0 else '+'}{abs(hours):02d}:00"
    shown = int(fraction[1:].ljust(3, "0")[:3] or 0) if fraction else 0
    seconds = int(time.replace(microsecond=0, tzinfo=zone).timestamp())
    guess = time_format_of([text])
    in_range = 31_536_000 <= seconds < 7_258_118_400
    assert (guess.millis(text) if guess else None) == (seconds * 1_000 + shown if in_range else None)


@given(TIMES)
def test_a_time_is_written_in_utc(time: datetime) -> None:
    millis = int(time.replace(tzinfo=UTC, microsecond=time.microsecond // 1_000 * 1_000).timestamp() * 1_000)
    assert datetime.fromisoformat(iso_utc(millis)).timestamp() * 1_000 == pytest.approx(millis, abs=0.5)


def test_a_written_time_has_no_digits_that_it_does_not_need() -> None:
    assert [iso_utc(1767225640000), iso_utc(1767225640050), iso_utc(1767225640125)] == [
        "2026-01-01T00:00:40Z",
        "2026-01-01T00:00:40.05Z",
        "2026-01-01T00:00:40.125Z",
    ]
