"""Both modes by one number: which summary rows make it up, and whether the difference is clear.

A difference is clear if the spreads of both modes do not overlap and their medians differ by a tenth or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.evidence.cases import Criterion, ModeRows, PartRows
from core.evidence.measurement import MODES, TOTAL, Measurement
from core.evidence.questions import BY_ID
from core.evidence.summary import Summary

CLEAR = 1.1  # the factor between medians below which no difference is clear
ENOUGH = 3  # repetitions; fewer have no spread that could be compared

_Sizes = Mapping[int, Summary]


@dataclass(frozen=True)
class Term:
    """A summary row of a side, and the factor that it is multiplied by."""

    row: Summary
    factor: float = 1.0


@dataclass(frozen=True)
class ModeNumber:
    """The number of one mode: the sum of its ``terms``. ``smallest`` and ``largest`` are the sums of theirs.

    Without terms it is a value that needs no measurement, for the reason ``why``.
    """

    mode: str
    terms: tuple[Term, ...]
    median: float
    smallest: float
    largest: float
    why: str = ""

    @property
    def busy(self) -> bool:
        """Whether other programs used the machine meanwhile."""
        return any(term.row.busy for term in self.terms)

    @property
    def repetitions(self) -> int:
        """The smallest number of repetitions of a row; 0 for a value that was not measured."""
        return min((term.row.repetitions for term in self.terms), default=0)


@dataclass(frozen=True)
class ModeComparison:
    """Both modes by one criterion; a side is None if it was not measured often enough."""

    criterion: Criterion
    sides: Mapping[str, ModeNumber | None]

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


def compare(criterion: Criterion, summaries: Iterable[Summary]) -> ModeComparison:
    """Both modes at the largest size that all their parts were measured at; without one, each part at its largest.

    A row without a mode counts for both. Values of a busy machine count only where there are no others.
    """
    rows = [row for row in summaries if row.repetitions >= ENOUGH]
    parts = {mode: _sizes_of_parts(criterion, mode, rows) for mode in MODES}
    sizes = [set(of_part) for of_mode in parts.values() for of_part in of_mode.values() if of_part]
    common = max(set.intersection(*sizes), default=None) if sizes else None
    return ModeComparison(criterion, {mode: _side(mode, parts[mode], criterion.of(mode), common) for mode in MODES})


def parts_of(criterion: Criterion, mode: str, rows: Iterable[Summary | Measurement]) -> tuple[PartRows, ...]:
    """The parts that are added up for a mode. A stored total stands for all parts that have rows."""
    of_mode = criterion.of(mode)
    measured = dict.fromkeys(row.part for row in rows if belongs(row, criterion, mode))
    names = [name for name in measured if not of_mode.without or name not in (TOTAL, of_mode.without)]
    return of_mode.parts or tuple(PartRows(name) for name in ([TOTAL] if TOTAL in names else names))


def belongs(row: Summary | Measurement, criterion: Criterion, mode: str, part: PartRows | None = None) -> bool:
    """Whether a row is one that the criterion looks at for a mode, of this part or of any."""
    question = part.question if part and part.question else criterion.question
    return (
        (row.question, row.view) == (question, criterion.view)
        and row.mode in (mode, "")
        and (part is None or row.part == part.name)
        and criterion.situation in ("", row.situation)
        and criterion.x in (None, row.x)
    )


def _sizes_of_parts(criterion: Criterion, mode: str, summaries: Sequence[Summary]) -> dict[PartRows, _Sizes]:
    """The row of each part by size; a part without rows is there, and empty."""
    rows = _at_common_x(criterion, summaries)
    in_order = sorted(rows, key=lambda row: (not row.busy, row.mode))  # the last row of a size counts
    return {
        part: {row.size: row for row in in_order if belongs(row, criterion, mode, part)}
        for part in parts_of(criterion, mode, rows)
    }


def _at_common_x(criterion: Criterion, rows: Sequence[Summary]) -> Sequence[Summary]:
    """Rows at the largest place on the axis that both modes have, if the criterion names none."""
    if criterion.x is not None or not BY_ID[criterion.question].axis:
        return rows
    places = [{row.x for row in rows if belongs(row, criterion, mode)} for mode in MODES]
    largest = max((x for x in set.intersection(*places) if x is not None), default=None)
    return [row for row in rows if row.x == largest]


def _side(mode: str, parts: Mapping[PartRows, _Sizes], of_mode: ModeRows, common: int | None) -> ModeNumber | None:
    if of_mode.given is not None:
        return ModeNumber(mode, (), of_mode.given, of_mode.given, of_mode.given, of_mode.why)
    if not parts or not all(parts.values()):
        return None
    terms = tuple(Term(sizes.get(common or 0) or sizes[max(sizes)], part.factor) for part, sizes in parts.items())
    return ModeNumber(
        mode,
        terms,
        sum(term.factor * term.row.median for term in terms),
        sum(term.factor * term.row.smallest for term in terms),
        sum(term.factor * term.row.largest for term in terms),
    )
