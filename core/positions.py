"""Where a record is: a topic, a partition and an offset, also as text with slashes between them."""

from __future__ import annotations

import re
from typing import NamedTuple

from core.errors import Usage
from core.identifiers import Name

_POSITION = re.compile(r"(?P<topic>[^/]+)/(?P<partition>0|[1-9][0-9]{0,5})/(?P<offset>0|[1-9][0-9]{0,18})", re.ASCII)


class LogPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"

    @staticmethod
    def parse(text: str) -> LogPartition:
        """The partition of a text that ``str`` gave; ValueError for another text."""
        topic, partition = text.split("/")
        return LogPartition(topic, int(partition))


class RecordPosition(NamedTuple):
    """The position of a record: an offset in a partition of a topic."""

    topic: Name
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @staticmethod
    def parse(text: str) -> RecordPosition:
        """The position of a text that ``str`` gave; ValueError for another text, which anybody may have written."""
        parsed = _POSITION.fullmatch(text)
        if parsed is None:
            raise ValueError(f"no position of a record: {text[:80]!r}")
        try:
            return RecordPosition(Name(parsed["topic"]), int(parsed["partition"]), int(parsed["offset"]))
        except Usage as error:
            raise ValueError(str(error)) from None
