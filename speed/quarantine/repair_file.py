"""The file in which a person repairs quarantined records: a JSON object per line, bytes that are not text as base64."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from core.decoding.redrive_headers import origin_of
from core.errors import Refused, Usage
from core.identifiers import Name
from core.positions import RecordPosition
from core.record_keys import TEXT, decode_key, encode_key
from core.safe_text import json_line
from core.topic import Topic
from infra.control import redrives
from infra.settings import Settings
from speed.quarantine.listing import QuarantinedRecord
from speed.quarantine.spool import spool

Topics = Mapping[Name, Topic]

_FIX = "see docs/runbooks/quarantine-growing.md; nothing was sent"


@dataclass(frozen=True)
class Exported:
    """An exported file: how many records it has, and how many were left out as redriven, or as copies."""

    file: Path
    records: int
    redriven: int
    copies: int


@dataclass(frozen=True)
class Repaired:
    """A line of the file: the position of the original, and the key and value of its copy."""

    line: int
    topic: Name
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    @property
    def position(self) -> RecordPosition:
        """Where the original is."""
        return RecordPosition(self.topic, self.partition, self.offset)


def export(
    settings: Settings, topics: Topics, records: Iterable[QuarantinedRecord], file: Path, rule: str | None = None
) -> Exported:
    """Writes the records that can be repaired, of one ``rule`` or all; leaves out those that were redriven.

    Keys are written as the text that the topic's key encoding gives them.
    Raises Refused when the file exists: it may have repairs.
    """
    if file.exists():
        raise Refused("the file exists, and may have repairs", where=str(file), fix="name another file")
    copies = 0
    with spool() as lines, spool() as left_out:
        for record in records:
            if rule is not None and rule not in record.rules:
                continue
            if origin_of(record.headers) is None:
                lines.add(record.position, json_line(_line(topics, record)))
            else:
                copies += left_out.add(record.position, None)
        redriven = sum(lines.remove(RecordPosition.parse(origin)) for origin in redrives.each_sent(settings))
        return Exported(file, _write(file, lines), redriven, copies)


def _write(file: Path, lines: Iterable[str]) -> int:
    """Writes a new file, whole or not at all; returns the number of lines."""
    try:
        with file.open("x", encoding="utf-8") as out:
            return _write_lines(out, lines)
    except OSError as e:
        raise Refused(f"the file cannot be written: {e.strerror}", where=str(file), fix="name another file") from None


def _write_lines(out: TextIO, lines: Iterable[str]) -> int:
    try:
        count = 0
        for line in lines:
            out.write(line + "\n")
            count += 1
        out.flush()
    except BaseException:
        Path(out.name).unlink()
        raise
    return count


def read(file: Path, topics: Topics) -> Iterator[Repaired]:
    """The repairs in a file, one at a time. Raises Refused, which names the first bad line."""
    seen: dict[str, int] = {}
    for number, text in enumerate(_lines(file), 1):
        if text.strip():
            repair = _repaired(file, topics, number, text)
            position = str(repair.position)
            if seen.setdefault(position, number) != number:
                raise bad_line(file, number, f"{position} is in line {seen[position]} already")
            yield repair


def topics_of(file: Path) -> list[Name]:
    """The topics that a file names, sorted. ``read`` refuses what is no record; it is passed over here."""
    topics = set()
    for text in _lines(file):
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError, Usage):
            topics.add(Name(json.loads(text)["topic"]))
    return sorted(topics)


def bad_line(file: Path, line: int, why: str) -> Refused:
    """The refusal of a file for one of its lines."""
    return Refused(f"line {line}: {why}", where=str(file), fix=_FIX)


def _lines(file: Path) -> Iterator[str]:
    try:
        with file.open(encoding="utf-8") as lines:  # splits at no other line ends, which a text may have inside
            yield from lines
    except (OSError, UnicodeDecodeError) as e:
        raise Refused(f"the file cannot be read: {e}", where=str(file), fix=_FIX) from None


def _line(topics: Topics, record: QuarantinedRecord) -> dict[str, Any]:
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    headers = [{"name": name, **_named("value", value)} for name, value in record.headers]
    details = {"rules": list(record.rules), "timestamp": record.timestamp.isoformat(), "headers": headers}
    key = _named("key", record.key, _key_encoding(topics, record.topic))
    return {**place, **key, **_named("value", record.value), **details}


def _named(name: str, value: bytes | None, encoding: str = TEXT) -> dict[str, str | None]:
    text = None if value is None else decode_key(encoding, value)
    if value is not None and text is None:
        return {f"{name}_base64": base64.b64encode(value).decode()}
    return {name: text}


def _key_encoding(topics: Topics, topic: Name) -> str:
    return topics[topic].key_encoding if topic in topics else TEXT


def _repaired(file: Path, topics: Topics, number: int, text: str) -> Repaired:
    try:
        fields = json.loads(text)
        place = (Name(fields["topic"]), int(fields["partition"]), int(fields["offset"]))
        if not (0 <= place[1] < 2**31 and 0 <= place[2] < 2**63):
            raise ValueError("no log has such a partition and offset")  # noqa: TRY301
        key = _bytes(fields, "key", _key_encoding(topics, place[0]))
        return Repaired(number, *place, key, _bytes(fields, "value"))
    except KeyError as e:
        raise bad_line(file, number, f"{e} is missing") from None
    except (ValueError, TypeError, AttributeError, RecursionError, Usage) as e:
        raise bad_line(file, number, f"it is not a record of `lk quarantine export`: {e}") from None


def _bytes(fields: dict[str, Any], name: str, encoding: str = TEXT) -> bytes | None:
    """The bytes of text or of base64. Raises ValueError when both are there, or the text is not in the encoding."""
    if f"{name}_base64" not in fields:
        text: str | None = fields[name]
        encoded = None if text is None else encode_key(encoding, text)
        if text is not None and encoded is None:
            raise ValueError(f"{name} {text!r} is not in the topic's key encoding, {encoding}")
        return encoded
    if name in fields:
        raise ValueError(f"it has both {name} and {name}_base64")
    return base64.b64decode(fields[f"{name}_base64"], validate=True)
