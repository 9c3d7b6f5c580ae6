"""Rows of a study that nobody measured: each quantity lies on a straight line with round numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from core.evidence.coefficients import Coefficients, Line, ModeCoefficients
from core.evidence.measurement import MODES, Measurement

AT = datetime(2026, 11, 26, tzinfo=UTC)
SIZES = (1_000_000, 10_000_000, 100_000_000)
REPETITIONS = 3
# Seconds on the machine of the study: fixed, and per million records. The rates follow from them.
SECONDS = {"land": (1.0, 5.0), "build": (2.0, 1.0), "replay": (3.0, 4.0)}
# CPU seconds: fixed, and per million records.
CPU = {
    "live": (30.0, 30.0),
    "land": (40.0, 8.0),
    "gate": (35.0, 1.0),
    "build": (40.0, 2.0),
    "replay": (60.0, 7.0),
    "proof": (50.0, 12.0),
}
# Megabytes: fixed, and per million records, which is bytes per record.
DISK = {"log": (0.5, 100.0), "archive": (0.0, 50.0), "builds": (1.0, 10.0), "partial rows": (2.0, 20.0)}
# Seconds of a correction: of each part fixed, and per million records. They add up to 45 + 1.01 and to 38 + 6.
CORRECTION = {
    "lambda": {
        **{"start": (2.0, 0.0), "read": (15.0, 0.0), "compute": (2.0, 1.0)},
        **{"catch-up": (20.0, 0.0), "proof": (5.0, 0.01), "swap": (1.0, 0.0), "in all": (45.0, 1.01)},
    },
    "kappa": {
        **{"start": (20.0, 0.0), "compute": (3.0, 4.0)},
        **{"catch-up": (4.0, 0.0), "proof": (10.0, 2.0), "swap": (1.0, 0.0), "in all": (38.0, 6.0)},
    },
}
FRESHNESS = {"lambda": {50.0: 0.8, 99.0: 1.4}, "kappa": {50.0: 0.7, 99.0: 1.3}}
LIVE_CORES = {"lambda": 0.5, "kappa": 0.4}

# The planted rates are those of two cores; a gate takes 0.01 s per million there, so 0.02 s of one core. A proof takes
# 12 CPU seconds per million, of which the landing takes 8.
COEFFICIENTS = Coefficients(
    live_cpu=30,
    late_cpu=0,
    land_cpu=8,
    gate_cpu=1,
    build_cpu=Line(40, 2),
    replay_cpu=Line(60, 7),
    proof_cpu=Line(50, 4),
    land_rate=100_000,
    build_rate=500_000,
    replay_rate=125_000,
    log_bytes=100,
    archive_bytes=50,
    build_bytes=10,
    partial_bytes=20,
    modes={
        "lambda": ModeCoefficients(0.5, 0.8, 1.4, {"start": 2, "read": 15, "catch-up": 20, "swap": 1}, Line(5, 0.02)),
        "kappa": ModeCoefficients(0.4, 0.7, 1.3, {"start": 20, "read": 0, "catch-up": 4, "swap": 1}, Line(10, 4)),
    },
)


def planted(sizes: Sequence[int] = SIZES, repetitions: int = REPETITIONS) -> list[Measurement]:
    """The rows of the study that the planner reads, and some that it does not, with ``repetitions`` of each."""
    return [
        replace(row, size=size, repetition=repetition)
        for repetition in range(1, repetitions + 1)
        for size in sizes
        for mode in MODES
        for row in _rows(mode, size / 1e6)
    ]


def _rows(mode: str, millions: float) -> Iterator[Measurement]:
    def at(line: tuple[float, float]) -> float:
        return line[0] + line[1] * millions

    parts = ("live", "land", "gate", "build") if mode == "lambda" else ("replay", "proof")
    for part in parts:
        yield Measurement("cpu", mode, at(CPU[part]) / millions, AT, part=part)
        if part in SECONDS:
            yield Measurement("rate", mode, millions * 1e6 / at(SECONDS[part]), AT, part=part)
            yield Measurement("rate", mode, 99.0, AT, part=part, view="trade_stats")
    for part, line in DISK.items():
        yield Measurement("disk", mode, at(line), AT, "steady", part)
        yield Measurement("disk", mode, 3 * at(line), AT, "peak", part)
    for part, line in CORRECTION[mode].items():
        yield Measurement("correction", mode, at(line), AT, "whole history", part)
        yield Measurement("correction", mode, 99.0, AT, "one day of 10", part)
    for x, seconds in FRESHNESS[mode].items():
        yield Measurement("freshness", mode, seconds, AT, "steady", x=x)
        yield Measurement("freshness", mode, 99.0, AT, "beside a batch", x=x)
    yield Measurement("cpu-live", mode, LIVE_CORES[mode], AT)
