"""Reads a bounded number of JSON lines from a user's file, plain or gzipped."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import Refused
from core.strict_json import strict_object
from infra.line_files import GZIP_ERRORS, decompressed, require_file

MOST_LINES = 5_000
MOST_BYTES = 16 * 2**20  # of the lines that are read, unzipped
LONGEST_LINE = 2**20  # bytes; Kafka's default limit of a record
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_REMOVE_MARK = r"it begins with a byte order mark: remove it, for example with sed '{number}s/^\xEF\xBB\xBF//'"


class Number(str):
    """The text of a JSON number, as it is written in the record."""

    __slots__ = ()


@dataclass(frozen=True)
class JsonRecord:
    """One JSON object: its line, its number in the file from 1, and its members in order, numbers as text."""

    line: int
    text: str
    members: Mapping[str, Any]


@dataclass(frozen=True)
class UnusableLine:
    """A line that no topic of JSON records accepts, and why. Sent to Kafka, it would go to quarantine."""

    line: int
    why: str


@dataclass(frozen=True)
class SampleFile:
    """The usable records of the first lines of a file. ``whole``: the file has no more lines."""

    records: Sequence[JsonRecord]
    unusable: Sequence[UnusableLine]
    whole: bool


def read_sample(path: Path) -> SampleFile:
    """The records of the first MOST_LINES lines, of at most MOST_BYTES in all.

    Raises Refused when the file cannot be read, or has more unusable lines than records.
    """
    lines, whole = _first_lines(path)
    if not lines:
        raise Refused("the file has no lines", where=str(path), fix="specify --from FILE with one JSON object per line")
    records, unusable = [], []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_record(number, line))
        except ValueError as e:
            unusable.append(UnusableLine(number, str(e)))
    if len(unusable) >= len(records):
        first = unusable[0]
        raise Refused(
            f"{len(records)} of {len(lines)} lines are JSON objects; line {first.line}: {first.why}",
            where=str(path),
            fix="write one JSON object per line, for example with pandas: "
            "pandas.read_csv('in.csv').to_json('out.jsonl', orient='records', lines=True); "
            "for lines of text, write the topic by hand: docs/add-a-view.md",
        )
    return SampleFile(records, unusable, whole)


def _first_lines(path: Path) -> tuple[list[bytes], bool]:
    """Lines without their endings, and whether these are all lines of the file. Of long lines the end is cut off."""
    require_file(path, fix="specify --from FILE with one JSON object per line")
    lines: list[bytes] = []
    left = MOST_BYTES
    try:
        with path.open("rb") as raw, decompressed(raw) as stream:
            while len(lines) < MOST_LINES and left > 0:
                line, size = _next_line(stream, left)
                if not size:
                    return lines, True
                left -= size
                lines.append(line)
            return lines, not stream.read(1)
    except GZIP_ERRORS as e:
        raise Refused(f"the gzip file is broken: {e}", where=str(path), fix="compress the file again") from None
    except OSError as e:
        raise Refused(f"the file cannot be read: {e.strerror}", where=str(path), fix="choose another file") from None


def _next_line(stream: io.BufferedIOBase, most: int) -> tuple[bytes, int]:
    """The next line, cut after LONGEST_LINE + 1 bytes, and the bytes that were read; of its end, at most ``most``."""
    chunk = stream.readline(LONGEST_LINE + len(b"\r\n"))
    line, size = chunk.removesuffix(b"\n").removesuffix(b"\r"), len(chunk)
    while chunk and not chunk.endswith(b"\n") and size < most:
        chunk = stream.readline(min(most - size, LONGEST_LINE))
        size += len(chunk)
    return line[: LONGEST_LINE + 1], size


def _record(number: int, line: bytes) -> JsonRecord:
    """Raises ValueError where decoding would put the line into quarantine."""
    if len(line) > LONGEST_LINE:
        raise ValueError(f"it is longer than {LONGEST_LINE:,} bytes")
    if line.startswith(_UTF_8_MARK):
        raise ValueError(_REMOVE_MARK.format(number=number))
    if line.startswith(_UTF_16_MARKS):
        raise ValueError("it is UTF-16: convert the file, for example with iconv -f UTF-16 -t UTF-8")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    members = strict_object(text, Number, _no_constant)
    return JsonRecord(number, text, members)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
