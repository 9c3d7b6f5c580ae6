"""What was measured, in short: the repetitions of a measurement as one row, and what has no row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from statistics import median

from core.evidence.measurement import Measurement
from core.evidence.question import Question
from core.evidence.questions import QUESTIONS

# Each row of these is an observation at a moment of its own, so that no repetition has the same x.
SERIES = ("answers", "lag")
_PLACES = {question.id: place for place, question in enumerate(QUESTIONS)}


@dataclass(frozen=True)
class Summary:
    """The repetitions of one measurement; ``repetitions`` is their number. The fields are those of Measurement.

    Values of a busy machine are never mixed with others: they have a row of their own.
    """

    question: str
    mode: str
    situation: str
    part: str
    view: str
    size: int
    x: float | None
    busy: bool
    median: float
    smallest: float
    largest: float
    repetitions: int


@dataclass(frozen=True)
class NotMeasured:
    """A question and those of its modes for which nothing was measured."""

    question: Question
    modes: tuple[str, ...]


def summarize(measurements: Iterable[Measurement]) -> list[Summary]:
    """One row for the values that differ in the repetition only.

    Questions have the order of QUESTIONS, sizes and x ascend, everything else comes in the order of the measurements.
    """
    values: dict[tuple[str, str, str, str, str, int, float | None, bool], list[float]] = defaultdict(list)
    for row in measurements:
        key = (row.question, row.mode, row.situation, row.part, row.view, row.size, row.x, row.busy)
        values[key].append(row.value)
    rows = [Summary(*key, median(group), min(group), max(group), len(group)) for key, group in values.items()]
    return sorted(_in_given_order(rows), key=lambda row: (_PLACES[row.question], row.size))


def in_short(measurements: Iterable[Measurement]) -> list[Summary]:
    """One row for all moments of a series, else as ``summarize``; ``repetitions`` is the number of its observations."""
    return summarize(replace(row, x=None) if row.question in SERIES else row for row in measurements)


def not_measured(measurements: Iterable[Measurement]) -> list[NotMeasured]:
    """The questions without rows in one of their modes. A row without a mode counts for every mode."""
    modes: dict[str, set[str]] = defaultdict(set)
    for row in measurements:
        modes[row.question].add(row.mode)
    missing = [NotMeasured(question, _missing_modes(question, modes[question.id])) for question in QUESTIONS]
    return [each for each in missing if each.modes]


def _missing_modes(question: Question, measured: Collection[str]) -> tuple[str, ...]:
    return () if "" in measured else tuple(mode for mode in question.modes if mode not in measured)


def _in_given_order(rows: Iterable[Summary]) -> list[Summary]:
    """Rows of one situation, part and view together, in the order of their first row; x ascends in them."""
    groups: dict[tuple[str, str, str, str], list[Summary]] = defaultdict(list)
    for row in rows:
        groups[row.question, row.situation, row.part, row.view].append(row)
    return [row for group in groups.values() for row in sorted(group, key=lambda row: (row.x is not None, row.x or 0))]
