"""Quarantined records as a file that a person repairs: one JSON object per line, bytes that are no text as base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.decoding.redrive_headers import ORIGIN, origin_of
from core.errors import Refused, Usage
from core.identifiers import Name
from infra.control import redrives
from infra.settings import Settings
from speed.quarantine.listing import QuarantinedRecord

_TODO = "see docs/runbooks/quarantine-growing.md; nothing was sent"


@dataclass(frozen=True)
class Exported:
    """A file for repairs: how many records are in it, and how many were left out, as there is nothing to repair."""

    file: Path
    records: int
    redriven: int
    copies: int


@dataclass(frozen=True)
class Repaired:
    """A line of the file: where the record is, and what its copy is to hold."""

    line: int
    topic: Name
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    @property
    def place(self) -> str:
        """The original's coordinates."""
        return f"{self.topic}/{self.partition}/{self.offset}"


def export(settings: Settings, found: Iterable[QuarantinedRecord], file: Path, rule: str | None = None) -> Exported:
    """Writes the records that can be repaired, those of one ``rule`` or all; those that were redriven are left out.

    Raises Refused when the file is there: it may hold repairs.
    """
    if file.exists():
        raise Refused("the file is there already, and may hold repairs", where=str(file), fix="name another file")
    wanted = [one for one in found if rule is None or rule in one.rules]
    originals = [one for one in wanted if origin_of(one.headers) is None]
    sent = redrives.sent_origins(settings)
    left = [one for one in originals if one.place not in sent]
    text = "".join(json.dumps(_line(one), ensure_ascii=False) + "\n" for one in left)
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except OSError as e:
        raise Refused(f"the file cannot be written: {e.strerror}", where=str(file), fix="name another file") from None
    return Exported(file, len(left), len(originals) - len(left), len(wanted) - len(originals))


def read(file: Path) -> list[Repaired]:
    """The repairs in a file. Raises Refused naming the first line that is none."""
    try:
        lines = file.read_text("utf-8").split("\n")  # text may hold other ends of lines
    except (OSError, UnicodeDecodeError) as e:
        raise Refused(f"the file cannot be read: {e}", where=str(file), fix=_TODO) from None
    found = [_repaired(file, number, text) for number, text in enumerate(lines, 1) if text.strip()]
    seen: dict[str, int] = {}
    for one in found:
        if seen.setdefault(one.place, one.line) != one.line:
            raise bad_line(file, one.line, f"{one.place} is in line {seen[one.place]} already")
    return found


def bad_line(file: Path, line: int, why: str) -> Refused:
    """The refusal of a file for one of its lines."""
    return Refused(f"line {line}: {why}", where=str(file), fix=_TODO)


def _line(one: QuarantinedRecord) -> dict[str, Any]:
    place = {"topic": one.topic, "partition": one.partition, "offset": one.offset}
    told = [{"name": name, **_named("value", value)} for name, value in one.headers]
    said = {"rules": list(one.rules), "timestamp": one.timestamp.isoformat(), "headers": told}
    return {**place, **_named("key", one.key), **_named("value", one.value), **said}


def _named(name: str, value: bytes | None) -> dict[str, str | None]:
    try:
        return {name: None if value is None else value.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value or b"").decode()}


def _repaired(file: Path, number: int, text: str) -> Repaired:
    try:
        told = json.loads(text)
        place = (Name(told["topic"]), int(told["partition"]), int(told["offset"]))
        return Repaired(number, *place, _bytes(told, "key"), _bytes(told, "value"))
    except KeyError as e:
        raise bad_line(file, number, f"it lacks {e}") from None
    except (ValueError, TypeError, AttributeError, Usage) as e:
        raise bad_line(file, number, f"it is no record of `lk quarantine export`: {e}") from None


def _bytes(told: dict[str, Any], name: str) -> bytes | None:
    """Text, or base64 where there is no text; both at once would be two values."""
    if f"{name}_base64" not in told:
        text: str | None = told[name]
        return None if text is None else text.encode("utf-8")
    if name in told:
        raise ValueError(f"it has both {name} and {name}_base64")
    return base64.b64decode(told[f"{name}_base64"], validate=True)


def checked(
    file: Path, repairs: Iterable[Repaired], originals: Iterable[QuarantinedRecord]
) -> dict[str, QuarantinedRecord]:
    """The original of every repair. Raises Refused where a record is not in quarantine, or is a copy itself."""
    known = {one.place: one for one in originals}
    for one in repairs:
        if one.place not in known:
            raise bad_line(file, one.line, f"{one.place} is not in quarantine")
        if (origin := origin_of(known[one.place].headers)) is not None:
            raise bad_line(file, one.line, f"{one.place} is a copy of {origin}, by its header {ORIGIN}")
    return known
