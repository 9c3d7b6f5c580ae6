"""A small table that every task has whole: the value of a code from a moment on, as text in the SQL of a view.

Being part of the text, its content is part of the view's digest. Idea: a global table of Kafka Streams, with validity
times, so that an event finds what was valid when it happened, whenever it is computed.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO

from core.errors import Usage

_CODE = re.compile(r"[\w .:/-]{1,60}\Z")
_HEADER = ["code", "valid_from", "value"]


@dataclass(frozen=True)
class Lookup:
    """Rows of code, epoch milliseconds from which it is valid, and value; a later row of a code replaces it."""

    rows: tuple[tuple[str, int, str], ...]

    def of(self, code: str, at: str = "event_time") -> str:
        """Spark SQL: the value of ``code`` at ``at``, both SQL; null where the table has none."""
        versions: dict[str, list[str]] = {}
        for name, since, value in sorted(self.rows):
            versions.setdefault(name, []).append(f"struct({since}L as since, {_text(value)} as value)")
        entries = ", ".join(f"{_text(name)}, array({', '.join(found)})" for name, found in versions.items())
        valid = f"filter(try_element_at(map({entries}), {code}), v -> v.since <= unix_millis({at}))"
        return f"try_element_at({valid}, -1).value"


def parse(text: str) -> Lookup:
    """A CSV text with the columns code, valid_from (ISO 8601, UTC) and value, of which rows are only ever added.

    Raises Usage naming the line that is wrong.
    """
    header, *lines = list(csv.reader(StringIO(text))) or [[]]
    if header != _HEADER:
        raise Usage(f"a lookup has the columns {', '.join(_HEADER)}, not {', '.join(header)}")
    rows = tuple(_row(number, line) for number, line in enumerate(lines, 2))
    if len({(code, since) for code, since, _ in rows}) < len(rows):
        raise Usage("a code has two values from the same moment on")
    return Lookup(rows)


def _row(number: int, line: list[str]) -> tuple[str, int, str]:
    try:
        code, since, value = line
        moment = datetime.fromisoformat(since).replace(tzinfo=UTC)
    except ValueError:
        raise Usage(f"line {number} is not code,valid_from,value: {','.join(line)[:80]}") from None
    if not _CODE.match(code):
        raise Usage(f"line {number}: {code[:60]!r} is not a code")
    return code, int(moment.timestamp() * 1_000), value


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
