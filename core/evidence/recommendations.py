"""What follows from the measurements for each of the five cases, by the rules of core/evidence/cases.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.evidence.cases import CASES, Case
from core.evidence.comparison import ENOUGH, Comparison, compare
from core.evidence.measurement import MODES, Measurement
from core.evidence.quantity import quantity
from core.evidence.questions import BY_ID
from core.evidence.summary import summarize


@dataclass(frozen=True)
class Recommendation:
    """The answer for a case: ``mode``, or "" if nothing is decided; ``sentence`` says it with the numbers.

    ``comparisons`` are those of all criteria. ``deciding`` is the one that decided, None if none did. ``against`` has a
    sentence for each later criterion that clearly favours the other mode.
    """

    case: Case
    mode: str
    sentence: str
    comparisons: tuple[Comparison, ...]
    deciding: Comparison | None = None
    against: tuple[str, ...] = ()


def recommend(measurements: Iterable[Measurement]) -> list[Recommendation]:
    """The recommendation of each case, in the order of CASES."""
    summaries = summarize(measurements)
    return [_decided(case, tuple(compare(criterion, summaries) for criterion in case.criteria)) for case in CASES]


def _decided(case: Case, comparisons: tuple[Comparison, ...]) -> Recommendation:
    """The first clear difference decides; one that was not measured before it leaves the case open."""
    for place, comparison in enumerate(comparisons):
        if comparison.missing:
            return Recommendation(case, "", _not_measured(comparison), comparisons)
        if comparison.better:
            others = [later for later in comparisons[place + 1 :] if later.better not in ("", comparison.better)]
            against = tuple(f"{_difference(later)}." for later in others)
            return Recommendation(case, comparison.better, _choice(comparison), comparisons, comparison, against)
    return Recommendation(case, "", _no_difference(comparisons), comparisons)


def _choice(comparison: Comparison) -> str:
    return f"{comparison.better.capitalize()}: {_difference(comparison)}."


def _difference(comparison: Comparison) -> str:
    """The number of the better mode first."""
    better, other = sorted(_sides(comparison), key=lambda side: side[0] != comparison.better)
    return (
        f"{comparison.criterion.what} is {better[1]} in {better[0].capitalize()}, {other[1]} in {other[0].capitalize()}"
    )


def _no_difference(comparisons: Iterable[Comparison]) -> str:
    texts = []
    for comparison in comparisons:
        numbers = " and ".join(f"{text} in {mode.capitalize()}" for mode, text in _sides(comparison))
        texts.append(f"{comparison.criterion.what} is {numbers}")
    return f"No clear difference: {'; '.join(texts)}."


def _not_measured(comparison: Comparison) -> str:
    modes = " and ".join(mode.capitalize() for mode in comparison.missing)
    section = BY_ID[comparison.criterion.question].section
    return f"Not decided: not measured in {modes}, or fewer than {ENOUGH} times: {comparison.criterion.what} "
        f"(`lk study {section}`)."


def _sides(comparison: Comparison) -> list[tuple[str, str]]:
    """The mode and its number with its unit, in the order of MODES."""
    unit = BY_ID[comparison.criterion.question].unit
    sides = {mode: side for mode, side in comparison.sides.items() if side}
    return [(mode, quantity(sides[mode].median, unit)) for mode in MODES]
