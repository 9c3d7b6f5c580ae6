"""At which value of a setting both modes cost the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import log, sqrt

from core.evidence.coefficients import Coefficients
from core.evidence.cost_model import plan
from core.evidence.measurement import MODES
from core.evidence.workload import LARGEST, SMALLEST, Prices, Workload

RANGE = 1000  # the largest factor between today's value and the one that is looked for
STEPS = 60  # in each direction, a factor of 1.12 each: so near to each other no two crossings are expected
HALVINGS = 50  # until the two ends differ in the last digits of a float only

SETTINGS = {
    "events_per_second": "events/s",
    "bytes_per_event": "bytes of an event in the log",
    "history_days": "days of history",
    "retention_days": "days that Lambda keeps the log",
    "rule_changes": "rule changes a month",
    "late_share": "share of late events",
    "batches_per_day": "batches a day",
    "cores": "cores of a build or a replay",
    "core_hour": "price of a core hour",
    "gb_month": "price of a GB-month in the object store",
    "log_gb_month": "price of a GB-month on a broker's disk",
}
_OF_WORKLOAD = {field.name for field in fields(Workload)}
_LARGEST = {"late_share": 1.0}


@dataclass(frozen=True)
class BreakEven:
    """``value`` of a setting at which both modes cost the same, the nearest to ``today``; None if there is none.

    It is looked for between a thousandth and a thousand times today's value, or 1 if that is 0. ``above`` is the mode
    that is cheaper just above the value, "" without one.
    """

    setting: str
    text: str
    today: float
    value: float | None
    above: str

    @property
    def factor(self) -> float | None:
        """How many times larger or smaller than today the value is, 1 or more; None without one, or if today is 0."""
        if self.value is None or not self.today:
            return None
        return max(self.value / self.today, self.today / self.value)


def break_evens(workload: Workload, prices: Prices, coefficients: Coefficients) -> list[BreakEven]:
    """The break-even of each setting while all others stay as they are."""
    return [_break_even(setting, workload, prices, coefficients) for setting in SETTINGS]


def nearest(break_evens: Sequence[BreakEven]) -> BreakEven | None:
    """The setting whose change by the smallest factor would change the answer; None if none would."""
    factors = [(each.factor, each) for each in break_evens if each.factor]
    return min(factors, key=lambda pair: pair[0])[1] if factors else None


def _break_even(setting: str, workload: Workload, prices: Prices, coefficients: Coefficients) -> BreakEven:
    """The crossing of the two costs that is nearest to today: steps find it, bisection on a log scale refines it."""

    def lambda_is_dearer(value: float) -> bool:
        there = _with(workload, prices, setting, value)
        lambda_month, kappa_month = (plan(*there, coefficients, mode).month for mode in MODES)
        return lambda_month > kappa_month

    today = float(getattr(workload if setting in _OF_WORKLOAD else prices, setting))
    middle = today or 1.0
    steps = [middle * RANGE ** (step / STEPS) for step in range(-STEPS, STEPS + 1)]
    values = [value for value in steps if SMALLEST <= value <= _LARGEST.get(setting, LARGEST)]
    dearer = map(lambda_is_dearer, values)
    crossings = [pair for pair, sides in zip(pairwise(values), pairwise(dearer), strict=True) if sides[0] != sides[1]]
    if not crossings:
        return BreakEven(setting, SETTINGS[setting], today, None, "")
    low, high = min(crossings, key=lambda pair: abs(log(pair[0] * pair[1] / middle**2)))
    dearer_above = lambda_is_dearer(high)
    for _ in range(HALVINGS):
        between = sqrt(low * high)
        low, high = (low, between) if lambda_is_dearer(between) == dearer_above else (between, high)
    return BreakEven(setting, SETTINGS[setting], today, sqrt(low * high), MODES[1] if dearer_above else MODES[0])


def _with(workload: Workload, prices: Prices, setting: str, value: float) -> tuple[Workload, Prices]:
    change = {setting: value}
    return (replace(workload, **change), prices) if setting in _OF_WORKLOAD else (workload, replace(prices, **change))
