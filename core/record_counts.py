"""Record counts of a partition: records read, decoded and quarantined."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RecordCounts:
    """Counted record by record, never computed from offsets: ``records`` = ``decoded`` + ``quarantined``."""

    records: int = 0
    decoded: int = 0
    quarantined: int = 0

    def __add__(self, other: RecordCounts) -> RecordCounts:
        return RecordCounts(
            self.records + other.records, self.decoded + other.decoded, self.quarantined + other.quarantined
        )

    @property
    def as_list(self) -> list[int]:
        """``[records, decoded, quarantined]``, as tables store it."""
        return [self.records, self.decoded, self.quarantined]
