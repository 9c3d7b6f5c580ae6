"""Where a record is: a topic, a partition and an offset, also as text with slashes between them."""

from __future__ import annotations

from typing import NamedTuple

from core.identifiers import Name


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"

    @staticmethod
    def parse(text: str) -> TopicPartition:
        """The partition of a text that ``str`` gave; ValueError for another text."""
        topic, partition = text.split("/")
        return TopicPartition(topic, int(partition))


class RecordPosition(NamedTuple):
    """The position of a record: an offset in a partition of a topic."""

    topic: Name
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @staticmethod
    def parse(text: str) -> RecordPosition:
        """The position of a text that ``str`` gave; ValueError for another text."""
        topic, partition, offset = text.split("/")
        return RecordPosition(Name(topic), int(partition), int(offset))
