"""Which rows of the study a coefficient comes from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from core.evidence.measurement import Measurement
from core.evidence.questions import BY_ID


@dataclass(frozen=True)
class Source:
    """Rows of a question. "" and None stand for any value; rows without a mode count for every mode."""

    question: str
    part: str = ""
    mode: str = ""
    situation: str = ""
    x: float | None = None

    def has(self, row: Measurement) -> bool:
        """Whether a row belongs to it. Rows of a single view never do."""
        return (
            (row.question, row.view) == (self.question, "")
            and (not self.part or row.part == self.part)
            and (not self.mode or row.mode in (self.mode, ""))
            and (not self.situation or row.situation == self.situation)
            and (self.x is None or row.x == self.x)
        )

    @property
    def section(self) -> str:
        """The section of the study that measures it."""
        return BY_ID[self.question].section

    def __str__(self) -> str:
        x = "" if self.x is None else f"{self.x:g}"
        return " ".join(text for text in (self.question, self.part, self.situation, x, self.mode) if text)


def middle(rows: Sequence[Measurement]) -> float:
    """The median of the values, 0 without any."""
    return median(row.value for row in rows) if rows else 0.0


def totals(rows: Iterable[Measurement]) -> dict[float, float]:
    """Millions of events -> seconds, CPU seconds, or megabytes. The rows are of one question.

    A value per million is multiplied by the events, a rate becomes the time that it takes. Repetitions become their
    median.
    """
    by_size: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        if row.size:
            by_size[row.size / 1e6].append(_total(row))
    return {millions: median(values) for millions, values in sorted(by_size.items())}


def _total(row: Measurement) -> float:
    unit = BY_ID[row.question].unit
    if unit == "s per million":
        return row.value * row.size / 1e6
    return row.size / row.value if unit == "records/s" else row.value


def rows_by_source(
    measurements: Iterable[Measurement], sources: Mapping[str, Source]
) -> dict[str, Sequence[Measurement]]:
    """The rows of each source. Those that were measured on a busy machine count only if there are no others."""
    rows = list(measurements)
    matching = {name: [row for row in rows if source.has(row)] for name, source in sources.items()}
    return {name: [row for row in of_it if not row.busy] or of_it for name, of_it in matching.items()}
