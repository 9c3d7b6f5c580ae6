"""Searches partitions for the copy of a record by a header that names the original; few records are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from core.identifiers import Name
from core.positions import RecordPosition
from infra.kafka.log_reader import committed_records
from infra.kafka.message_content import headers_of
from infra.settings import Settings

MOST = 10_000  # records of a partition that are searched
_PATIENCE = 10.0  # seconds without a record


@dataclass(frozen=True)
class CopySearch:
    """The position of the copy; ``is_whole`` says that all of each partition was searched."""

    copy: str | None
    is_whole: bool


def find_copy(settings: Settings, starts: Iterable[tuple[str, int, int]], header: str, original: str) -> CopySearch:
    """The first copy of a record in partitions from given offsets on: topic, partition, offset.

    ``original`` is the position of the record, which the last ``header`` of a copy holds. Raises TryAgain when Kafka
    does not answer, or a transaction stays open.
    """
    is_whole = True
    for topic, partition, start in starts:
        searched = 0
        for message in islice(committed_records(settings, topic, partition, start, _PATIENCE), MOST):
            searched += 1
            positions = [value for name, value in headers_of(message) if name == header]
            if positions and positions[-1] == original.encode():
                return CopySearch(str(RecordPosition(Name(topic), partition, message.offset() or 0)), is_whole)
        is_whole = is_whole and searched < MOST
    return CopySearch(None, is_whole)
