"""How the answers of windows settle: the answer now against the final answer, by the age of the window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class WindowAnswer:
    """The answer of one query: the count of each window (by its end, epoch seconds), and when it arrived."""

    arrived: float
    counts: Mapping[float, int]


def settling_curve(
    answers: Sequence[WindowAnswer], final: Mapping[float, int], ages: Sequence[float]
) -> dict[float, float]:
    """Age in seconds -> share of the final count that answers of that age showed, over all windows of ``final``.

    An answer has the greatest of the ``ages`` that it has reached; an age that no answer has is left out. A window
    without a count in an answer counts 0.
    """
    seen: dict[float, list[int]] = {}
    for answer in answers:
        for end, count in final.items():
            reached = [age for age in ages if age <= answer.arrived - end]
            if reached:
                sums = seen.setdefault(max(reached), [0, 0])
                sums[0] += answer.counts.get(end, 0)
                sums[1] += count
    return {age: seen[age][0] / seen[age][1] for age in sorted(seen) if seen[age][1]}


def settled_after(answers: Sequence[WindowAnswer], final: Mapping[float, int], percent: float) -> float:
    """Seconds from the end of a window until its answers stay final, for ``percent`` of the windows (nearest rank).

    Infinite if an answer never was final for so many windows.
    """
    ordered = sorted(answers, key=lambda answer: answer.arrived)
    ages = sorted(_settled(ordered, end, count) for end, count in final.items())
    return ages[max(0, math.ceil(len(ages) * percent / 100) - 1)] if ages else math.inf


def _settled(ordered: Sequence[WindowAnswer], end: float, count: int) -> float:
    """The age at which the answers of one window became final for good."""
    settled = math.inf
    for answer in reversed(ordered):
        if answer.counts.get(end, 0) != count:
            break
        settled = max(0.0, answer.arrived - end)
    return settled
