"""Plausible rows of a study, for tests of what reads them: every question, both modes, two sizes, five repetitions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from core.evidence.measurement import MODES, Measurement

BEGAN = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
SIZES = (1_000_000, 10_000_000)
REPETITIONS = 5
OTHER = {"lambda": "kappa", "kappa": "lambda", "": ""}
_SPREAD = 0.03

# question, situation, part, view -> value in Lambda, value in Kappa; None where the mode has none
_SAME_AT_EVERY_SIZE: dict[tuple[str, str, str, str], tuple[float | None, float | None]] = {
    ("records-lost", "", "", ""): (0, 0),
    ("records-twice", "", "", ""): (0, 0),
    ("right-answers", "", "", ""): (1, 1),
    ("replay-cells", "", "", ""): (None, 0),
    ("mode-cells", "", "", ""): (0, 0),
    ("sustained-rate", "", "", ""): (61_000, 60_500),
    ("catch-up", "", "", ""): (24, 23),
    ("staleness", "", "", ""): (58, None),
    ("reader-pause", "to kappa", "", ""): (None, 0.41),
    ("reader-pause", "rollback", "", ""): (0.38, None),
    ("rollback", "to kappa", "", ""): (None, 2.5),
    ("rollback", "to lambda", "", ""): (2.4, None),
    ("replayable-history", "", "", ""): (None, 0.9997),
    ("cpu", "steady", "live", ""): (310, 305),
    ("cpu", "steady", "live", "order_payments"): (640, 650),
    ("cpu-fixed", "", "batch", ""): (21, None),
    ("cpu-fixed", "", "replay", ""): (None, 17),
    ("memory", "steady", "", ""): (5.2, 4.4),
    ("memory", "correction", "", ""): (6.1, 5.9),
    ("parts", "", "processes", ""): (3, 3),
    ("parts", "", "jobs", ""): (1, 0),
    ("parts", "", "topics", ""): (2, 2),
    ("parts", "", "tables", ""): (2, 1),
    ("steps", "deploy", "", ""): (4, 3),
    ("steps", "correct history", "", ""): (1, 1),
    ("steps", "go back", "", ""): (1, 1),
    ("rule-lines", "", "", ""): (24, 24),
    ("rule-files", "", "", ""): (1, 1),
    ("alert", "speed process killed", "", ""): (6.2, 6.1),
    ("alert", "topic deleted", "", ""): (9.8, 10.1),
}
# the same -> (a fixed part, a part per million records) in each mode
_GROWS: dict[tuple[str, str, str, str], tuple[tuple[float, float] | None, tuple[float, float] | None]] = {
    ("correction", "whole history", "start", ""): ((9, 0), (11, 0)),
    ("correction", "whole history", "compute", ""): ((4, 0.9), (6, 3.4)),
    ("correction", "whole history", "proof", ""): ((3, 0.1), (14, 1.6)),
    ("correction", "whole history", "swap", ""): ((1.1, 0), (1.3, 0)),
    ("correction", "one day", "start", ""): ((9, 0), (11, 0)),
    ("correction", "one day", "compute", ""): ((4, 0.2), (6, 3.4)),
    ("correction", "one day", "proof", ""): ((3, 0.1), (14, 1.6)),
    ("correction", "one day", "swap", ""): ((1.1, 0), (1.3, 0)),
    ("disk", "steady", "log", ""): ((2, 96), (2, 96)),
    ("disk", "steady", "archive", ""): ((1, 71), None),
    ("disk", "steady", "build", ""): ((3, 4), None),
    ("disk", "steady", "partials", ""): ((2, 1), (2, 9)),
    ("disk", "peak", "log", ""): ((2, 96), (2, 96)),
    ("disk", "peak", "archive", ""): ((1, 71), (1, 71)),
    ("disk", "peak", "build", ""): ((3, 8), (3, 4)),
    ("disk", "peak", "partials", ""): ((2, 1), (2, 18)),
}
# per million records: the same at both sizes but for a fixed part that 10 million dilute
_PER_MILLION: dict[tuple[str, str, str, str], tuple[float | None, float | None]] = {
    ("cpu", "", "land", ""): (8.1, None),
    ("cpu", "", "build", ""): (2.2, None),
    ("cpu", "", "build", "order_payments"): (6.6, None),
    ("cpu", "", "replay", ""): (None, 7.9),
    ("cpu", "", "proof", ""): (None, 11.5),
    ("written", "", "live", ""): (41, 40),
    ("written", "", "build", ""): (12, None),
    ("written", "", "replay", ""): (None, 19),
}
_RATES: dict[tuple[str, str, str, str], tuple[float | None, float | None]] = {
    ("rate", "", "land", ""): (240_000, None),
    ("rate", "", "build", ""): (2_360_000, None),
    ("rate", "", "build", "order_payments"): (310_000, None),
    ("rate", "", "replay", ""): (None, 296_000),
    ("rate", "", "replay", "order_payments"): (None, 74_000),
}
_FRESHNESS = {  # situation, view -> p50 in each mode
    ("steady", ""): (0.77, 0.76),
    ("beside a batch", ""): (1.67, None),
    ("beside a replay", ""): (1.21, 1.19),
    ("steady", "order_payments"): (1.12, 1.10),
}
_QUERY = {"speed alone": (0.13, 0.14), "batch alone": (0.10, None), "merged": (0.28, None)}
_CRASHES = ("epoch.1_plan", "epoch.2_write", "epoch.3_manifest", "batch.2_land", "batch.4_publish", "switch.3_promote")


def study(seed: int = 1) -> list[Measurement]:
    """All rows; the same for the same seed."""
    dice = random.Random(seed)
    rows = [replace(row, value=_shaken(row, dice)) for row in _exact()]
    return [replace(row, at=BEGAN + timedelta(seconds=place)) for place, row in enumerate(rows)]


def swapped(measurements: Iterable[Measurement]) -> list[Measurement]:
    """The same rows with Lambda's values for Kappa and the other way round."""
    return [replace(row, mode=OTHER[row.mode]) for row in measurements]


def _shaken(row: Measurement, dice: random.Random) -> float:
    counted = ("records-lost", "records-twice", "right-answers", "replay-cells", "mode-cells", "replayable-history")
    if row.question in (*counted, "late-counted", "settling", "parts", "steps", "rule-lines", "rule-files"):
        return row.value
    return row.value * (1 + dice.uniform(-_SPREAD, _SPREAD))


def _exact() -> Iterator[Measurement]:
    for repetition in range(1, REPETITIONS + 1):
        rows = (*_same(), *_growing(), *_distributions(), *_curves(), *_crashes(), *_observations(repetition))
        yield from (replace(row, repetition=repetition) for row in rows)


def _row(
    question: str, mode: str, value: float, situation: str = "", part: str = "", view: str = "", **more: float
) -> Measurement:
    size, x = int(more.get("size", SIZES[-1])), more.get("x")
    return Measurement(question, mode, value, BEGAN, situation, part, view, size, x=x)


def _same() -> Iterator[Measurement]:
    for (question, *place), values in _SAME_AT_EVERY_SIZE.items():
        for mode, value in zip(MODES, values, strict=True):
            if value is not None:
                yield _row(question, mode, value, *place)


def _growing() -> Iterator[Measurement]:
    for size in SIZES:
        millions = size / 1e6
        for (question, *place), lines in _GROWS.items():
            for mode, line in zip(MODES, lines, strict=True):
                if line:
                    yield _row(question, mode, line[0] + line[1] * millions, *place, size=size)
        for table, factor in ((_PER_MILLION, 1 + 2 / millions), (_RATES, 1 / (1 + 0.4 / millions))):
            for (question, *place), values in table.items():
                for mode, value in zip(MODES, values, strict=True):
                    if value is not None:
                        yield _row(question, mode, value * factor, *place, size=size)


def _distributions() -> Iterator[Measurement]:
    for percentile, factor in ((50, 1.0), (95, 1.5), (99, 1.75)):
        for (situation, view), values in _FRESHNESS.items():
            for mode, p50 in zip(MODES, values, strict=True):
                if p50:
                    yield _row("freshness", mode, p50 * factor, situation, "", view, x=percentile)
        for part, values in _QUERY.items():
            for mode, p50 in zip(MODES, values, strict=True):
                if p50:
                    yield _row("query-time", mode, p50 * factor, "", part, x=percentile)
        for mode, p50 in zip(MODES, (0.8, 0.79), strict=True):
            yield _row("freshness-back", mode, p50 * factor, x=percentile)
            yield _row("settled-after", mode, p50 * factor + 0.5, x=percentile)


def _curves() -> Iterator[Measurement]:
    for mode, pace in zip(MODES, (0.9, 0.8), strict=True):
        for age in (0, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 60):
            early = 0.88 * (1 - math.exp(-age / pace))
            yield _row("settling", mode, early + (1 - 0.88) * min(1.0, age / 60), x=age)
        for lateness in (5, 60, 600, 3600):
            yield _row("late-counted", mode, 1, x=lateness)


def _crashes() -> Iterator[Measurement]:
    for place, crash in enumerate(_CRASHES):
        for mode in MODES if crash.startswith("epoch") else ("lambda",) if crash.startswith("batch") else ("kappa",):
            yield _row("recovery", mode, 17 + 1.5 * place, crash)


def _observations(repetition: int) -> Iterator[Measurement]:
    """A backlog that grows for a minute and is read in half; and readers across a switch, ten answers a second."""
    for mode in MODES:
        for second in range(0, 91, 3):
            waiting = min(second, 60) * 12_000 - max(0, second - 60) * 24_000
            yield _row("lag", mode, waiting, x=second + repetition / 10)
    for situation, (before, after) in {"to kappa": MODES, "rollback": MODES[::-1]}.items():
        for tenth in range(-100, 101):
            slow = 0.35 if 0 <= tenth < 4 else 0.0
            mode = before if tenth < 1 else after
            yield _row("answers", mode, 0.15 + slow, situation, x=tenth / 10 + repetition / 100)
