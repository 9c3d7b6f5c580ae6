"""Plausible rows of a study, for tests of what reads them: every question, both modes, two sizes, five repetitions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from core.evidence.measurement import MODES, Measurement

BEGAN = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
SIZES = (1_000_000, 10_000_000)
REPETITIONS = 5
OTHER = {"lambda": "kappa", "kappa": "lambda", "": ""}
_SPREAD = 0.03

_Key = tuple[str, str, str, str]  # question, situation, part, view
_Both = tuple[float | None, float | None]  # in Lambda, in Kappa; None where the mode has none
_Line = tuple[float, float]  # a fixed part, and a part for each million records

_SAME_AT_EVERY_SIZE: dict[_Key, _Both] = {
    ("records-lost", "", "", "trades_by_day"): (0, 0),
    ("records-lost", "", "", "visits"): (0, 0),
    ("records-twice", "", "", "trades_by_day"): (0, 0),
    ("records-twice", "", "", "visits"): (0, 0),
    ("right-answers", "correction", "", ""): (1, 1),
    ("replay-cells", "", "", "trades_by_day"): (None, 0),
    ("replay-cells", "", "", "order_payments"): (None, 0),
    ("mode-cells", "", "", "trades_by_day"): (0, 0),
    ("mode-cells", "", "", "order_payments"): (0, 0),
    ("sustained-rate", "", "", ""): (61_000, 60_500),
    ("catch-up", "", "", ""): (24, 23),
    ("staleness", "", "", ""): (58, None),
    ("reader-pause", "correction", "", ""): (0.38, 0.41),
    ("rollback", "", "the command", ""): (2.4, 2.5),
    ("rollback", "", "until everything is read", ""): (3.1, 3.3),
    ("replayable-history", "", "", ""): (None, 0.9997),
    ("cpu-live", "", "", ""): (0.31, 0.305),
    ("memory", "correction", "", ""): (6.1, 5.9),
    ("parts", "", "processes", ""): (3, 3),
    ("parts", "", "jobs to schedule", ""): (5, 0),
    ("parts", "", "topics", ""): (7, 7),
    ("parts", "", "tables that a query reads", ""): (2, 1),
    ("steps", "", "deploy", ""): (3, 3),
    ("steps", "", "correct history", ""): (1, 1),
    ("steps", "", "go back", ""): (1, 1),
    ("rule-lines", "", "", ""): (24, 24),
    ("rule-files", "", "", ""): (1, 1),
    ("alert", "", "speed killed", ""): (6.2, 6.1),
    ("alert", "", "trino killed", ""): (1.8, 1.9),
}
_GROWS: dict[_Key, tuple[_Line | None, _Line | None]] = {
    ("correction", "whole history", "start", ""): ((4, 0), (11, 0)),
    ("correction", "whole history", "read", ""): ((9, 0), None),
    ("correction", "whole history", "compute", ""): ((4, 0.9), (6, 3.4)),
    ("correction", "whole history", "proof", ""): ((3, 0.1), (14, 1.6)),
    ("correction", "whole history", "catch-up", ""): ((11, 0), (2, 0)),
    ("correction", "whole history", "swap", ""): ((1.1, 0), (1.3, 0)),
    ("correction", "whole history", "in all", ""): ((32.1, 1), (34.3, 5)),
    ("correction", "one day of 10", "compute", ""): ((13, 0.2), (6, 3.4)),
    ("correction", "one day of 10", "proof", ""): ((8, 0.1), (14, 1.6)),
    ("correction", "one day of 10", "swap", ""): ((2.1, 0), (1.3, 0)),
    ("correction", "one day of 10", "in all", ""): ((23.1, 0.3), (34.3, 5)),
    ("disk", "steady", "log", ""): ((2, 96), (2, 96)),
    ("disk", "steady", "archive", ""): ((1, 71), (1, 71)),
    ("disk", "steady", "builds", ""): ((3, 4), (3, 4)),
    ("disk", "steady", "partial rows", ""): ((2, 1), (2, 9)),
    ("disk", "steady", "in all", ""): ((8, 172), (8, 180)),
    ("disk", "peak", "log", ""): ((2, 96), (2, 96)),
    ("disk", "peak", "archive", ""): ((1, 71), (1, 71)),
    ("disk", "peak", "builds", ""): ((3, 8), (3, 8)),
    ("disk", "peak", "partial rows", ""): ((2, 2), (2, 18)),
    ("disk", "peak", "in all", ""): ((8, 177), (8, 193)),
    ("deployment", "", "", ""): ((34, 2), (30, 5)),
}
# A million records of ten cost a fifth of the fixed part that a million alone pays: see _growing.
_PER_MILLION: dict[_Key, _Both] = {
    ("cpu", "", "live", ""): (9.2, None),
    ("cpu", "", "land", ""): (8.1, None),
    ("cpu", "", "build", ""): (2.2, None),
    ("cpu", "", "gate", ""): (1.4, None),
    ("cpu", "", "replay", ""): (None, 7.9),
    ("cpu", "", "proof", ""): (None, 11.5),
    ("written", "", "live", ""): (41, None),
    ("written", "", "build", ""): (12, None),
    ("written", "", "replay", ""): (None, 19),
}
_RATES: dict[_Key, _Both] = {
    ("rate", "", "live", ""): (290_000, None),
    ("rate", "", "land", ""): (240_000, None),
    ("rate", "", "build", ""): (2_360_000, None),
    ("rate", "", "build", "order_payments"): (310_000, None),
    ("rate", "", "replay", ""): (None, 296_000),
    ("join-rate", "", "", "order_payments"): (310_000, 74_000),
}
_FRESHNESS: dict[_Key, _Both] = {  # p50 in each mode
    ("freshness", "steady", "", ""): (0.77, 0.76),
    ("freshness", "beside a batch", "", ""): (1.67, 1.61),
    ("freshness", "beside a replay", "25,000 records/s", ""): (0.92, 0.90),
    ("freshness", "beside a replay", "50,000 records/s", ""): (1.05, 1.04),
    ("freshness", "beside a replay", "100,000 records/s", ""): (1.21, 1.19),
    ("freshness", "steady", "", "order_payments"): (1.12, 1.10),
    ("freshness-back", "", "", ""): (0.80, 0.79),
    ("settled-after", "", "", ""): (1.3, 1.2),
    ("query-time", "", "served", ""): (0.28, 0.17),
    ("query-time", "", "batch alone", ""): (0.10, None),
    ("query-time", "", "speed alone", ""): (0.13, None),
}
_CRASHES = ("speed.1_after_compute", "speed.4_before_manifest", "speed killed", "kafka killed", "trino killed")
_CRASHES_OF_A_BATCH = ("batch.1_after_land", "batch.2_before_built")


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
    question: str,
    mode: str,
    value: float,
    situation: str = "",
    part: str = "",
    view: str = "",
    size: int = SIZES[-1],
    x: float | None = None,
) -> Measurement:
    return Measurement(question, mode, value, BEGAN, situation, part, view, size, x=x)


def _same() -> Iterator[Measurement]:
    yield from _of_modes(_SAME_AT_EVERY_SIZE, 1, size=SIZES[0])


def _growing() -> Iterator[Measurement]:
    for size in SIZES:
        millions = size / 1e6
        for (question, situation, part, view), lines in _GROWS.items():
            for mode, line in zip(MODES, lines, strict=True):
                if line:
                    yield _row(question, mode, line[0] + line[1] * millions, situation, part, view, size)
        yield from _of_modes(_PER_MILLION, 1 + 2 / millions, size=size)
        yield from _of_modes(_RATES, 1 / (1 + 0.4 / millions), size=size)


def _distributions() -> Iterator[Measurement]:
    for percentile, factor in ((50, 1.0), (95, 1.5), (99, 1.75)):
        yield from _of_modes(_FRESHNESS, factor, x=percentile, size=SIZES[0])


def _of_modes(table: Mapping[_Key, _Both], factor: float, size: int, x: float | None = None) -> Iterator[Measurement]:
    for (question, situation, part, view), values in table.items():
        for mode, value in zip(MODES, values, strict=True):
            if value is not None:
                yield _row(question, mode, value * factor, situation, part, view, size, x)


def _curves() -> Iterator[Measurement]:
    for mode, pace in zip(MODES, (0.9, 0.8), strict=True):
        for age in (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30):
            early = 0.88 * (1 - math.exp(-age / pace))
            yield _row("settling", mode, early + (1 - 0.88) * min(1.0, age / 30), x=age, size=SIZES[0])
        for lateness in (60, 300, 900, 1_800, 3_600):
            yield _row("late-counted", mode, 1, x=lateness, size=SIZES[0])


def _crashes() -> Iterator[Measurement]:
    for place, crash in enumerate((*_CRASHES, *_CRASHES_OF_A_BATCH)):
        for mode in MODES if crash in _CRASHES else MODES[:1]:
            yield _row("recovery", mode, 17 + 1.5 * place, part=crash, size=SIZES[0])


def _observations(repetition: int) -> Iterator[Measurement]:
    """A backlog that grows for a minute and is read in half; and readers across a change, ten answers a second."""
    for mode in MODES:
        for second in range(0, 91, 3):
            waiting = min(second, 60) * 12_000 - max(0, second - 60) * 24_000
            yield _row("lag", mode, waiting, x=second + repetition / 10, size=SIZES[0])
        for tenth in range(-100, 101):
            slow = 0.35 if 0 <= tenth < 4 else 0.0
            yield _row("answers", mode, 0.15 + slow, "correction", x=tenth / 10 + repetition / 100)
