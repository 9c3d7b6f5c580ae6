"""What the study measured of the two modes, as the numbers that the cost model computes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import linear_regression, mean

LIVE_RATE = 1_000  # events a second of the study's live load
_ROUNDING = 1e-9  # a smaller share is no growth


@dataclass(frozen=True)
class Line:
    """A fixed part, and a part that grows with the events: ``fixed + per_million × millions of events``."""

    fixed: float
    per_million: float

    def at(self, millions: float) -> float:
        """The value for so many millions of events."""
        return self.fixed + self.per_million * millions

    @classmethod
    def through(cls, points: Mapping[float, float]) -> Line:
        """The straight line of least squares through ``points``: millions of events -> value. No part is negative.

        One point does not tell the two parts apart: then all of it grows with the events.
        """
        if len(points) == 1:
            ((millions, value),) = points.items()
            return cls(0.0, value / millions)
        slope, intercept = linear_regression(list(points), list(points.values()))
        if slope * max(points) <= _ROUNDING * abs(intercept):
            return cls(mean(points.values()), 0.0)
        if intercept < 0:
            return cls(0.0, linear_regression(list(points), list(points.values()), proportional=True).slope)
        return cls(intercept, slope)


@dataclass(frozen=True)
class ModeCoefficients:
    """What differs between the modes. In brackets: question and part of the Measurement rows.

    ``live_cores``: cores that the live run uses while LIVE_RATE events arrive a second (cpu-live).
    ``freshness_p50`` and ``freshness_p99``: seconds (freshness, steady, x = 50 and 99).
    Of a correction of the whole history: ``fixed_seconds``, part -> seconds of what does not grow with the history
    (correction, start, read, catch-up, swap), and ``proof_seconds``, whose ``per_million`` are seconds of one core
    (correction, proof). The proof is a comparison in Kappa and a gate in Lambda.
    """

    live_cores: float
    freshness_p50: float
    freshness_p99: float
    fixed_seconds: Mapping[str, float]
    proof_seconds: Line


@dataclass(frozen=True)
class Coefficients:
    """Everything that the cost model knows of the system. In brackets: question and part of the Measurement rows.

    CPU seconds per million events: ``live_cpu`` of a live run at its full rate (cpu, live), ``late_cpu`` of late events
    above that (cpu, late; 0 if it was not measured), ``land_cpu`` (cpu, land), ``gate_cpu`` (cpu, gate).
    CPU seconds with a fixed part, which holds the start of a process: ``build_cpu`` of a full build (cpu, build),
    ``replay_cpu`` (cpu, replay), ``proof_cpu`` of a comparison and its build, without the landing (cpu, proof).

    Records per second of one core: ``land_rate``, ``build_rate``, ``replay_rate`` (rate, land, build, replay).

    Bytes per event: ``log_bytes`` of one replica, ``archive_bytes``, ``build_bytes``, and ``partial_bytes`` of a run
    that read the whole log (disk, log, archive, builds, partial rows).

    ``modes``: what differs, by mode.
    """

    live_cpu: float
    late_cpu: float
    land_cpu: float
    gate_cpu: float
    build_cpu: Line
    replay_cpu: Line
    proof_cpu: Line
    land_rate: float
    build_rate: float
    replay_rate: float
    log_bytes: float
    archive_bytes: float
    build_bytes: float
    partial_bytes: float
    modes: Mapping[str, ModeCoefficients]
