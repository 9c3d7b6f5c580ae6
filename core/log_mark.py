"""Marks of a log: by them a log is recognised as the one that was read, although offsets and counts are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.positions import LogPartition
from core.unix_time import epoch_millis

REPLACEMENT = "\ufffd"  # Java puts it in place of bytes that are not UTF-8


@dataclass(frozen=True)
class LogMark:
    """One record of a partition: its offset, and a digest of its timestamp, key, value and headers.

    ``leader_epoch`` is that of its batch, where it is known: a record that was written again may have equal content.
    """

    offset: int
    digest: str
    leader_epoch: int | None = None

    def is_of(self, other: LogMark) -> bool:
        """Whether both are marks of the same record."""
        epochs = {self.leader_epoch, other.leader_epoch} - {None}
        return (self.offset, self.digest) == (other.offset, other.digest) and len(epochs) <= 1


def mark_of_row(row: Mapping[str, Any]) -> LogMark:
    """The mark of a record that is stored as a row; its leader epoch is not known.

    ``row`` has ``_offset``, ``_timestamp`` (a datetime with a zone), ``_key``, ``_value`` and ``_headers``.
    """
    headers = [(header["key"], header["value"]) for header in row["_headers"] or ()]
    timestamp = epoch_millis(row["_timestamp"])
    return LogMark(row["_offset"], record_digest(timestamp, row["_key"], row["_value"], headers))


def record_digest(
    timestamp: int, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]
) -> str:
    """The digest of a record; ``timestamp`` is epoch milliseconds.

    Clients read some names of headers differently. librdkafka's ends a name at a NUL, so that only the text before it
    counts; where bytes are not UTF-8 it gives no header of the record, so that none counts.
    """
    digest = hashlib.sha256(str(timestamp).encode())
    named = [(name.partition("\0")[0], item) for name, item in headers]
    same = [] if any(REPLACEMENT in name for name, _ in named) else named
    for part in (key, value, *(part for name, item in same for part in (name.encode(), item))):
        digest.update(b"-" if part is None else b"%d:" % len(part) + part)
    return digest.hexdigest()[:16]


def marks_to_json(marks: Mapping[LogPartition, LogMark]) -> str:
    """``{"topic/partition": [offset, digest, leader epoch]}``."""
    texts = {str(partition): [m.offset, m.digest, m.leader_epoch] for partition, m in sorted(marks.items())}
    return json.dumps(texts, separators=(",", ":"))


def marks_from_json(text: str | None) -> dict[LogPartition, LogMark]:
    """The marks of ``marks_to_json``; none for None, which an older program wrote."""
    return {LogPartition.parse(partition): LogMark(*mark) for partition, mark in json.loads(text or "{}").items()}
