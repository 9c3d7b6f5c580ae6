"""What follows from the measurements for each of the five cases, by the rules of core/evidence/cases.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.evidence.cases import CASES, Case
from core.evidence.comparison import ENOUGH, ModeComparison, compare
from core.evidence.measurement import MODES, Measurement
from core.evidence.quantity import quantity
from core.evidence.questions import BY_ID
from core.evidence.summary import summarize


@dataclass(frozen=True)
class Recommendation:
    """The answer for a case: ``mode``, or "" if nothing is decided; ``reason`` has the numbers, as a clause.

    ``comparisons`` are those of all criteria. ``deciding`` is the one that decided, None if none did. ``against`` has a
    clause for each later criterion that clearly favours the other mode.
    """

    case: Case
    answer: str
    reason: str
    comparisons: tuple[ModeComparison, ...]
    mode: str = ""
    deciding: ModeComparison | None = None
    against: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer and its reason."""
        return f"{self.answer}: {self.reason}."


def recommend(measurements: Iterable[Measurement]) -> list[Recommendation]:
    """The recommendation of each case, in the order of CASES."""
    summaries = summarize(measurements)
    return [_decided(case, tuple(compare(criterion, summaries) for criterion in case.criteria)) for case in CASES]


def _decided(case: Case, comparisons: tuple[ModeComparison, ...]) -> Recommendation:
    """The first clear difference decides; one that was not measured before it leaves the case open."""
    for place, comparison in enumerate(comparisons):
        if comparison.missing:
            return Recommendation(case, "Not decided", _not_measured(comparison), comparisons)
        mode = comparison.better
        if mode:
            against = tuple(_difference(later) for later in comparisons[place + 1 :] if later.better not in ("", mode))
            reason = _difference(comparison)
            return Recommendation(case, mode.capitalize(), reason, comparisons, mode, comparison, against)
    reason = "; ".join(map(_both, comparisons))
    return Recommendation(case, "No clear difference", reason, comparisons)


def _difference(comparison: ModeComparison) -> str:
    """The numbers of both modes, that of the better one first."""
    return _numbers(comparison, sorted(MODES, key=lambda mode: mode != comparison.better), " against ")


def _both(comparison: ModeComparison) -> str:
    return _numbers(comparison, MODES, " and ")


def _numbers(comparison: ModeComparison, modes: Iterable[str], between: str) -> str:
    unit = BY_ID[comparison.criterion.question].unit
    sides = [side for mode in modes if (side := comparison.sides[mode])]
    texts = [f"{quantity(side.median, unit)} in {side.mode.capitalize()}" for side in sides]
    return f"{comparison.criterion.what} is {between.join(texts)}"


def _not_measured(comparison: ModeComparison) -> str:
    modes = " and ".join(mode.capitalize() for mode in comparison.missing)
    section = BY_ID[comparison.criterion.question].section
    times = f"not measured {ENOUGH} times in {modes}"
    return f"{times}: {comparison.criterion.what} (`lk study {section}`)"
