"""Reads input files (JSON lines or text, plain or gzipped) as records with keys and timestamps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from core.errors import Refused, Usage
from core.record_keys import encode_key
from core.topic import Field, Json, Lines, Topic
from core.unix_time import epoch_millis, in_utc
from infra.line_files import GZIP_ERRORS, decompressed, is_gzipped, require_file

NOW = "now"
# Spark datetime pattern → strptime directive; longest first.
_LETTERS = {"yyyy": "%Y", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "Z": "%z"}

Extract = Callable[[bytes], str | None]


class OutgoingRecord(NamedTuple):
    """A record to send. ``timestamp`` is epoch milliseconds; None means the time of sending."""

    key: bytes | None
    value: bytes | None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass
class InputFile:
    """A file whose lines become records, repeated ``loop`` times. ``progress`` is the fraction read so far, 0 to 1.

    Raises Refused for a missing, empty or misnamed file, Usage for a field that the topic does not have.
    """

    path: Path
    topic: Topic
    key: str | None = None
    time: str = NOW
    loop: int = 1
    progress: float = 0.0

    def __post_init__(self) -> None:
        if self.loop < 1:
            raise Usage(f"--loop is {self.loop}", fix="specify --loop 1 or more")
        self._size = _file_size(self.path)
        self._key, self._time = key_extractor(self.topic, self.key), _time(self.topic, self.time)

    def records(self) -> Iterator[OutgoingRecord]:
        """One record per line, without the line ending. A line without the key or time field has no key or timestamp.

        A key that is not in the topic's encoding is no key.
        Raises Refused where a gzip file is broken or has no lines.
        """
        for turn in range(self.loop):
            for line in self._lines(turn):
                key = self._key(line) if self._key else None
                encoded = encode_key(self.topic.key_encoding, key) if key is not None else None
                yield OutgoingRecord(encoded, line, self._time(line))

    def _lines(self, turn: int) -> Iterator[bytes]:
        line_count = 0
        try:
            with self.path.open("rb") as raw, decompressed(raw) as lines:
                for line in lines:
                    line_count += 1
                    yield line.removesuffix(b"\n").removesuffix(b"\r")
                    self.progress = (turn + raw.tell() / self._size) / self.loop
        except GZIP_ERRORS as e:
            raise Refused(
                f"the gzip file is broken: {e}",
                where=f"{self.path}, after line {line_count}",
                fix="download or compress the file again; the lines before were sent",
            ) from None
        if line_count == 0:
            raise Refused("the file has no lines", where=str(self.path), fix="specify a file with one record per line")


def _file_size(path: Path) -> int:
    """Bytes of a readable file. Raises Refused when it is missing, not a file, unreadable or empty."""
    require_file(path, fix="specify --file with a .jsonl or text file, plain or gzipped")
    if path.stat().st_size == 0:
        raise Refused("the file is empty", where=str(path), fix="specify a file with one record per line")
    with path.open("rb") as raw:
        if path.suffix == ".gz" and not is_gzipped(raw):
            fix = "rename it, or download it again"
            raise Refused("the file is named .gz but is not gzipped", where=str(path), fix=fix)
    return path.stat().st_size


def key_extractor(topic: Topic, field: str | None = None) -> Extract | None:
    """Returns the record key of a line: the text of ``field``, by default of the topic's key field."""
    name = field or topic.key
    return _field(topic, name) if name else None


def _time(topic: Topic, name: str) -> Callable[[bytes], int | None]:
    if name == NOW:
        return lambda _: None
    text = _field(topic, name)
    time_format = next((field.time_format for field in topic.fields if field.name == name), None)
    pattern = _strptime(time_format, name) if time_format else None
    return lambda line: _milliseconds(text(line), pattern)


def _field(topic: Topic, name: str) -> Extract:
    """A function that returns a field's text in a line: by its JSON name, or by the capture group of its position."""
    if isinstance(topic.format, Json):
        names = _json_names(topic.format, topic.fields, name)
        if not names:
            raise _unknown(topic, name)
        return lambda line: _json_text(line, names)
    positions = [n for n, field in enumerate(topic.fields, 1) if field.name == name]
    if not positions:
        raise _unknown(topic, name)
    return _group(topic.format, topic, positions[0])


def _json_names(form: Json, fields: tuple[Field, ...], name: str) -> tuple[str, ...]:
    """The JSON names of a field: its own, and those that a version's upcaster renames to it."""
    declared = {field.name for field in fields} | {
        json_name for version in form.versions for json_name in version.names
    }
    renamed = (_only_name(version.upcast.get(name, "")) for version in form.versions)
    own = (name,) if name in declared else ()
    return own + tuple(other for other in renamed if other and other != name)


def _only_name(sql: str) -> str | None:
    """The JSON name that Spark SQL consists of, between backquotes or not; None for any other expression."""
    quoted = re.fullmatch(r"`([^`]+)`", sql)
    return quoted[1] if quoted else sql if sql.isidentifier() else None


def _json_text(line: bytes, names: tuple[str, ...]) -> str | None:
    try:
        event = json.loads(line, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    value = next((event[name] for name in names if event.get(name) is not None), None)
    return value if isinstance(value, str) else None


def _group(form: Lines, topic: Topic, position: int) -> Extract:
    try:
        pattern = re.compile(form.pattern)
    except re.error as e:
        raise Usage(
            f"Python cannot compile the topic's pattern: {e}", where=f"topic {topic.name}", fix="send without --key"
        ) from None

    def extract(line: bytes) -> str | None:
        match = pattern.fullmatch(line.decode("utf-8", "replace"))
        return match[position] if match else None

    return extract


def _unknown(topic: Topic, name: str) -> Usage:
    names = ", ".join(field.name for field in topic.fields)
    return Usage(f"the topic has no field {name!r}", where=f"topic {topic.name}", fix=f"choose one of: {names}")


def _strptime(pattern: str, name: str) -> str:
    directives = re.sub("|".join(_LETTERS), lambda match: _LETTERS[match[0]], pattern)
    if re.search(r"(?<!%)[A-Za-z]", directives):
        raise Usage(f"--time does not support the format {pattern!r}", where=f"field {name}", fix="use --time now")
    return directives


def _milliseconds(text: str | None, pattern: str | None) -> int | None:
    """Epoch milliseconds from the pattern, or without one from digits or ISO 8601; None when the text does not fit."""
    if text is None:
        return None
    if pattern is None and re.fullmatch(r"[0-9]{1,15}", text):
        return int(text)
    try:
        moment = datetime.strptime(text, pattern) if pattern else datetime.fromisoformat(text)
    except ValueError:
        return None
    return epoch_millis(in_utc(moment))
