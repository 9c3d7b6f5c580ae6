"""Both modes by one number: which summary rows make it up, and whether the difference is clear.

A difference is clear if the spreads of both modes do not overlap and their medians differ by a tenth or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.evidence.cases import Criterion, Rows
from core.evidence.measurement import MODES, Measurement
from core.evidence.questions import BY_ID
from core.evidence.summary import Summary

CLEAR = 1.1  # the factor between medians below which no difference is clear
ENOUGH = 3  # repetitions; fewer have no spread that could be compared
TOTAL = "total"

_Parts = Mapping[str, Mapping[int, Summary]]  # part -> size -> row


@dataclass(frozen=True)
class Side:
    """The number of one mode: the sum of ``rows``. ``smallest`` and ``largest`` are the sums of theirs.

    Without rows it is a value that needs no measurement, for the reason ``why``.
    """

    mode: str
    rows: tuple[Summary, ...]
    median: float
    smallest: float
    largest: float
    why: str = ""

    @property
    def busy(self) -> bool:
        """Whether other programs used the machine meanwhile."""
        return any(row.busy for row in self.rows)

    @property
    def repetitions(self) -> int:
        """The smallest number of repetitions of a row; 0 for a value that was not measured."""
        return min((row.repetitions for row in self.rows), default=0)


@dataclass(frozen=True)
class Comparison:
    """Both modes by one criterion; a side is None if it was not measured often enough."""

    criterion: Criterion
    sides: Mapping[str, Side | None]

    @property
    def missing(self) -> tuple[str, ...]:
        """The modes that were not measured often enough."""
        return tuple(mode for mode, side in self.sides.items() if side is None)

    @property
    def better(self) -> str:
        """The mode that is clearly better; "" if neither is, or if one is missing."""
        sides = [side for side in self.sides.values() if side]
        if len(sides) < len(MODES):
            return ""
        low, high = sorted(sides, key=lambda side: side.median)
        if low.largest >= high.smallest or high.median < CLEAR * low.median:
            return ""
        return high.mode if BY_ID[self.criterion.question].better == "higher" else low.mode


def compare(criterion: Criterion, summaries: Iterable[Summary]) -> Comparison:
    """Both modes at the largest size that all their parts were measured at; without one, each part at its largest.

    A row without a mode counts for both. Values of a busy machine count only where there are no others.
    """
    by_mode = _rows(criterion, summaries)
    parts = {mode: _parts(rows, criterion.of(mode)) for mode, rows in by_mode.items()}
    sizes = [set(by_size) for of_mode in parts.values() for by_size in of_mode.values() if by_size]
    common = max(set.intersection(*sizes), default=None) if sizes else None
    return Comparison(criterion, {mode: _side(mode, parts[mode], criterion.of(mode), common) for mode in MODES})


def _rows(criterion: Criterion, summaries: Iterable[Summary]) -> dict[str, list[Summary]]:
    """The rows of each mode that the criterion asks for, measured often enough."""
    rows = [row for row in summaries if row.repetitions >= ENOUGH and belongs(row, criterion)]
    by_mode = {mode: [row for row in rows if row.mode in (mode, "")] for mode in MODES}
    if criterion.x is None and BY_ID[criterion.question].axis:
        places = set.intersection(*({row.x for row in of_mode} for of_mode in by_mode.values()))
        largest = max((x for x in places if x is not None), default=None)
        return {mode: [row for row in of_mode if row.x == largest] for mode, of_mode in by_mode.items()}
    return by_mode


def belongs(row: Summary | Measurement, criterion: Criterion) -> bool:
    """Whether a row is about what the criterion compares; its part is not looked at."""
    return (
        (row.question, row.view) == (criterion.question, criterion.view)
        and criterion.situation in ("", row.situation)
        and criterion.x in (None, row.x)
    )


def _parts(rows: Sequence[Summary], wanted: Rows) -> _Parts:
    """The rows of each part that is added up, by size. A part without rows is there, and empty."""
    parts: dict[str, dict[int, Summary]] = {name: {} for name in part_names(rows, wanted)}
    for row in sorted(rows, key=lambda row: (not row.busy, row.mode)):  # the last one counts
        if row.part in parts:
            parts[row.part][row.size] = row
    return parts


def part_names(rows: Iterable[Summary | Measurement], wanted: Rows) -> Sequence[str]:
    """The parts that are added up. A stored total stands for all of them."""
    measured = list(dict.fromkeys(row.part for row in rows))
    if wanted.without:
        return [name for name in measured if name not in (TOTAL, wanted.without)]
    return wanted.parts or ([TOTAL] if TOTAL in measured else measured)


def _side(mode: str, parts: _Parts, wanted: Rows, common: int | None) -> Side | None:
    if wanted.given is not None:
        return Side(mode, (), wanted.given, wanted.given, wanted.given, wanted.why)
    if not parts or not all(parts.values()):
        return None
    rows = tuple(by_size[common if common in by_size else max(by_size)] for by_size in parts.values())
    medians, smallest, largest = ([getattr(row, name) for row in rows] for name in ("median", "smallest", "largest"))
    return Side(mode, rows, sum(medians), sum(smallest), sum(largest))
