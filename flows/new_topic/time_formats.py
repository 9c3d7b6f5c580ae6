"""Recognizes times in texts, and says how a topic reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.decoding.field_types import EARLIEST_MS, LATEST_MS
from core.unix_time import UNIX_EPOCH

_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?P<between>[T ])[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(?P<fraction>\.[0-9]{1,9})?(?P<zone>Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_APACHE = re.compile(r"[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}")
_DIGITS = re.compile(r"[0-9]{10}|[0-9]{13}|[0-9]{16}|[0-9]{19}")
# Digits of a time after 2001 -> its unit, and Spark SQL from such a text to epoch milliseconds.
_UNITS = {
    10: ("seconds", "concat({name}, '000')"),
    13: ("milliseconds", None),
    16: ("microseconds", "substring({name}, 1, 13)"),
    19: ("nanoseconds", "substring({name}, 1, 13)"),
}


@dataclass(frozen=True)
class TimeFormat:
    """How a field's texts are times: in words, as a topic's ``time_format``, or as digits of epoch time.

    ``digits`` other than 13 need an ``upcast``. ``has_zone`` is false where a text does not say its zone.
    """

    words: str
    time_format: str | None = None
    digits: int = 13
    has_zone: bool = True

    def upcast(self, name: str) -> str | None:
        """Spark SQL over a JSON name that gives epoch milliseconds; None where the text is read as it is."""
        sql = _UNITS[self.digits][1]
        if sql is None:
            return None
        return f"if({name} rlike '^[0-9]{{{self.digits}}}$', {sql.format(name=name)}, {name})"

    def millis(self, text: str) -> int:
        """Epoch milliseconds of a text of this format, finer digits cut. Raises ValueError for another text."""
        if self.time_format is None:
            return int(text.ljust(13, "0")[:13])
        zoned = datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z") if "/" in text else datetime.fromisoformat(text)
        time = zoned if zoned.tzinfo else zoned.replace(tzinfo=UTC)
        return (time - UNIX_EPOCH) // timedelta(milliseconds=1)


def time_format_of(texts: Sequence[str]) -> TimeFormat | None:
    """The one format in which every text is a time from 1971 to 2199; None when there is none."""
    guess = _epoch(texts) or _iso(texts) or _dates(texts) or _apache(texts)
    try:
        in_range = guess is not None and all(EARLIEST_MS <= guess.millis(text) < LATEST_MS for text in texts)
    except (ValueError, OverflowError):
        return None
    return guess if in_range else None


def iso_utc(millis: int) -> str:
    """A time as examples and messages write it, such as 2026-01-01T00:00:40Z."""
    time = UNIX_EPOCH + timedelta(milliseconds=millis)
    digits = f".{millis % 1_000:03d}".rstrip("0") if millis % 1_000 else ""
    return f"{time:%Y-%m-%dT%H:%M:%S}{digits}Z"


def _epoch(texts: Sequence[str]) -> TimeFormat | None:
    lengths = {len(text) for text in texts}
    if len(lengths) != 1 or not all(_DIGITS.fullmatch(text) for text in texts):
        return None
    digits = lengths.pop()
    return TimeFormat(f"epoch {_UNITS[digits][0]}", digits=digits)


def _iso(texts: Sequence[str]) -> TimeFormat | None:
    matches = [_ISO.fullmatch(text) for text in texts]
    parts = [(match["between"], match["zone"] is not None) for match in matches if match]
    if len(parts) < len(texts) or len(set(parts)) != 1:
        return None
    between, has_zone = parts[0]
    fraction = "[.SSSSSSSSS]" if any(match and match["fraction"] for match in matches) else ""
    date = "yyyy-MM-dd'T'" if between == "T" else "yyyy-MM-dd "
    pattern = f"{date}HH:mm:ss{fraction}{'XXX' if has_zone else ''}"
    return TimeFormat(f"text such as {texts[0]}", pattern, has_zone=has_zone)


def _dates(texts: Sequence[str]) -> TimeFormat | None:
    if not all(_DATE.fullmatch(text) for text in texts):
        return None
    return TimeFormat(f"dates such as {texts[0]}", "yyyy-MM-dd", has_zone=False)


def _apache(texts: Sequence[str]) -> TimeFormat | None:
    if not all(_APACHE.fullmatch(text) for text in texts):
        return None
    return TimeFormat(f"text such as {texts[0]}", "dd/MMM/yyyy:HH:mm:ss Z")
