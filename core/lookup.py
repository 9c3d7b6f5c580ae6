"""Broadcast lookup tables with validity times, written into the SQL of a view.

The SQL contains the rows, so they are part of the view's digest. A lookup is like a global table of Kafka Streams, but
its values have validity times: an event gets the value that was valid at its event time, also in a replay.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import datetime
from io import StringIO

from core.errors import Usage
from core.unix_time import epoch_millis, in_utc

_CODE = re.compile(r"[\w .:/-]{1,60}\Z")
_HEADER = ["code", "valid_from", "value"]


@dataclass(frozen=True)
class Lookup:
    """Rows of (code, epoch milliseconds from which the value is valid, value); a later row of a code replaces it."""

    rows: tuple[tuple[str, int, str], ...]

    def of(self, code: str, at: str = "event_time") -> str:
        """Spark SQL for the value of ``code`` at time ``at``, both Spark SQL; null where the table has no value."""
        versions: dict[str, list[str]] = {}
        for name, since, value in sorted(self.rows):
            versions.setdefault(name, []).append(f"struct({since}L as since, {_text(value)} as value)")
        entries = ", ".join(f"{_text(name)}, array({', '.join(values)})" for name, values in versions.items())
        valid = f"filter(try_element_at(map({entries}), {code}), v -> v.since <= unix_millis({at}))"
        return f"try_element_at({valid}, -1).value"


def parse(text: str) -> Lookup:
    """A lookup from CSV text with the columns code, valid_from (ISO 8601; UTC, or with an offset) and value.

    Add rows to change values and never edit old ones. Raises Usage that names the wrong line.
    """
    header, *lines = list(csv.reader(StringIO(text))) or [[]]
    if header != _HEADER:
        raise Usage(f"a lookup has the columns {', '.join(_HEADER)}, not {', '.join(header)}")
    rows = tuple(_row(number, line) for number, line in enumerate(lines, 2))
    if len({(code, since) for code, since, _ in rows}) < len(rows):
        raise Usage("a code has two values with the same valid_from", fix="keep one of the two lines")
    return Lookup(rows)


def _row(number: int, line: list[str]) -> tuple[str, int, str]:
    try:
        code, since, value = line
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise Usage(f"line {number} is not code,valid_from,value: {','.join(line)[:80]}") from None
    if not _CODE.match(code):
        raise Usage(f"line {number}: {code[:60]!r} is not a code")
    if moment.microsecond % 1_000:
        raise Usage(f"line {number}: {since} is finer than a millisecond, as no event time is")
    return code, epoch_millis(in_utc(moment)), value


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
