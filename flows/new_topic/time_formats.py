"""Recognizes times in texts, and says how a topic reads them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.decoding.field_types import EARLIEST_MS, LATEST_MS
from core.unix_time import UNIX_EPOCH, epoch_millis, in_utc

_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?P<between>[T ])[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(?P<fraction>\.[0-9]{1,9})?(?P<zone>Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?"
)
# Zones of a field -> the letters of a pattern that reads all of them; the first that fits counts.
_ZONES = (
    (re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}"), "XXX"),
    (re.compile(r"Z|[+-][0-9]{4}"), "XX"),
    (re.compile(r"Z|[+-][0-9]{2}(?:[0-9]{2})?"), "X"),
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_APACHE = re.compile(r"[0-9]{2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}")
_FRACTION = "[.SSSSSSSSS]"  # of a second, in a pattern: 1 to 9 digits or none
_WITH_DECIMALS = " with decimals"
_MILLISECONDS = "[0-9]{13}"
_SECONDS = "[0-9]{10}([.][0-9]{1,9})?"  # as Python's time.time() gives them
# A pattern of epoch times after 2001 -> their unit, and Spark SQL from such a text to epoch milliseconds.
_UNITS = {
    "[0-9]{10}": ("seconds", "concat({name}, '000')"),
    _MILLISECONDS: ("milliseconds", None),
    "[0-9]{16}": ("microseconds", "substring({name}, 1, 13)"),
    "[0-9]{19}": ("nanoseconds", "substring({name}, 1, 13)"),
    _SECONDS: (f"seconds{_WITH_DECIMALS}", "rpad(replace({name}, '.', ''), 13, '0')"),
}


@dataclass(frozen=True)
class TimeFormat:
    """How a field's texts are times: in words, as a topic's ``time_format``, or as epoch time.

    ``epoch`` is the pattern of epoch times, of which all but milliseconds need an ``upcast``. ``has_zone`` is false
    where a text does not say its zone.
    """

    words: str
    time_format: str | None = None
    epoch: str = _MILLISECONDS
    has_zone: bool = True

    @property
    def family(self) -> str:
        """What times must have in common to be times of one field."""
        if self.time_format is None:
            return self.words.removesuffix(_WITH_DECIMALS)
        return f"{self.time_format.replace(_FRACTION, '').rstrip('X')} {self.has_zone}"

    def upcast(self, name: str) -> str | None:
        """Spark SQL over a JSON name that gives epoch milliseconds; None where the text is read as it is."""
        sql = _UNITS[self.epoch][1]
        if sql is None:
            return None
        return f"if({name} rlike '^{self.epoch}$', {sql.format(name=name)}, {name})"

    def millis(self, text: str) -> int:
        """Epoch milliseconds of a text of this format, finer digits cut. Raises ValueError for another text."""
        if self.time_format is None:
            return int(text.replace(".", "").ljust(13, "0")[:13])
        time = datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z") if "/" in text else datetime.fromisoformat(text)
        return epoch_millis(in_utc(time))


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
    epoch = next((pattern for pattern in _UNITS if all(re.fullmatch(pattern, text) for text in texts)), None)
    return TimeFormat(f"epoch {_UNITS[epoch][0]}", epoch=epoch) if epoch else None


def _iso(texts: Sequence[str]) -> TimeFormat | None:
    matches = [_ISO.fullmatch(text) for text in texts]
    parts = [(match["between"], match["zone"] is not None) for match in matches if match]
    if len(parts) < len(texts) or len(set(parts)) != 1:
        return None
    between, has_zone = parts[0]
    letters = _zone_letters({match["zone"] for match in matches if match}) if has_zone else ""
    if letters is None:
        return None
    fraction = _FRACTION if any(match and match["fraction"] for match in matches) else ""
    date = "yyyy-MM-dd'T'" if between == "T" else "yyyy-MM-dd "
    pattern = f"{date}HH:mm:ss{fraction}{letters}"
    return TimeFormat(f"text such as {texts[0]}", pattern, has_zone=has_zone)


def _zone_letters(zones: Collection[str]) -> str | None:
    return next((letters for pattern, letters in _ZONES if all(map(pattern.fullmatch, zones))), None)


def _dates(texts: Sequence[str]) -> TimeFormat | None:
    if not all(_DATE.fullmatch(text) for text in texts):
        return None
    return TimeFormat(f"dates such as {texts[0]}", "yyyy-MM-dd", has_zone=False)


def _apache(texts: Sequence[str]) -> TimeFormat | None:
    if not all(_APACHE.fullmatch(text) for text in texts):
        return None
    return TimeFormat(f"text such as {texts[0]}", "dd/MMM/yyyy:HH:mm:ss Z")
