"""The coefficients of the cost model, from what the study measured; and how well they predict other sizes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from core.errors import Refused
from core.evidence.coefficients import Coefficients, Line, ModeCoefficients
from core.evidence.measurement import MODES, STEADY, TOTAL, WHOLE, Measurement
from core.evidence.study_rows import Source, middle, rows_by_source, totals

STUDY_CORES = 2  # of the machine that the study ran on, as in docs/deploy/sizing.md
SHARED = {
    "live_cpu": Source("cpu", "live"),
    "late_cpu": Source("cpu", "late"),
    "land_cpu": Source("cpu", "land"),
    "gate_cpu": Source("cpu", "gate"),
    "build_cpu": Source("cpu", "build"),
    "replay_cpu": Source("cpu", "replay"),
    "proof_cpu": Source("cpu", "proof"),
    "land_rate": Source("rate", "land"),
    "build_rate": Source("rate", "build"),
    "replay_rate": Source("rate", "replay"),
    "log_bytes": Source("disk", "log", situation=STEADY),
    "archive_bytes": Source("disk", "archive", "lambda", STEADY),
    "build_bytes": Source("disk", "builds", "lambda", STEADY),
    "partial_bytes": Source("disk", "partial rows", "kappa", STEADY),
}
FIXED_PARTS = ("start", "read", "catch-up", "swap")  # of a correction
# A correction of Kappa reads and computes in one pass. The study sends late events, and does not tell their cost apart.
_MAY_BE_ABSENT = ("late_cpu", "read")


def _of_mode(mode: str) -> dict[str, Source]:
    return {
        "live_cores": Source("cpu-live", mode=mode),
        "freshness_p50": Source("freshness", mode=mode, situation=STEADY, x=50),
        "freshness_p99": Source("freshness", mode=mode, situation=STEADY, x=99),
        "proof_seconds": Source("correction", "proof", mode, WHOLE),
        **{part: Source("correction", part, mode, WHOLE) for part in FIXED_PARTS},
    }


BY_MODE = {mode: _of_mode(mode) for mode in MODES}
# What is predicted for sizes that were not fitted, and in which unit.
PREDICTED = {
    "time of a full build": (SHARED["build_rate"], "s"),
    "time of a replay": (SHARED["replay_rate"], "s"),
    "CPU of a full build": (SHARED["build_cpu"], "CPU s"),
    "CPU of a replay": (SHARED["replay_cpu"], "CPU s"),
    **{f"correction, {mode.capitalize()}": (Source("correction", TOTAL, mode, WHOLE), "s") for mode in MODES},
    "disk: log": (SHARED["log_bytes"], "MB"),
    "disk: archive": (SHARED["archive_bytes"], "MB"),
    "disk: builds": (SHARED["build_bytes"], "MB"),
    "disk: partial rows": (SHARED["partial_bytes"], "MB"),
}


@dataclass(frozen=True)
class Prediction:
    """What a line through other sizes predicts for a log of ``size`` records, and what was measured."""

    what: str
    unit: str
    size: int
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Predicted divided by measured, minus 1."""
        return self.predicted / self.measured - 1


def fit(measurements: Sequence[Measurement], cores: float = STUDY_CORES) -> Coefficients:
    """The coefficients that the study measured on a machine with so many ``cores``.

    Raises Refused for coefficients without measurements, with the sections of the study that would measure them, and
    for logs of one size.
    """
    shared = rows_by_source(measurements, SHARED)
    by_mode = {mode: rows_by_source(measurements, sources) for mode, sources in BY_MODE.items()}
    _refuse_missing(shared, by_mode)
    _refuse_one_size(shared["land_rate"])
    log_bytes, land_cpu, proof_cpu = (_line(shared[name]) for name in ("log_bytes", "land_cpu", "proof_cpu"))
    if not log_bytes.per_million:
        raise _does_not_grow(SHARED["log_bytes"])
    return Coefficients(
        live_cpu=_line(shared["live_cpu"]).per_million,
        late_cpu=middle(shared["late_cpu"]),
        land_cpu=land_cpu.per_million,
        gate_cpu=_line(shared["gate_cpu"]).per_million,
        build_cpu=_line(shared["build_cpu"]),
        replay_cpu=_line(shared["replay_cpu"]),
        # The proof that the study measures is an instance's first: it lands the whole log, the next ones do not.
        proof_cpu=Line(proof_cpu.fixed, max(0.0, proof_cpu.per_million - land_cpu.per_million)),
        land_rate=_rate(shared, "land_rate", cores),
        build_rate=_rate(shared, "build_rate", cores),
        replay_rate=_rate(shared, "replay_rate", cores),
        log_bytes=log_bytes.per_million,
        archive_bytes=_line(shared["archive_bytes"]).per_million,
        build_bytes=_line(shared["build_bytes"]).per_million,
        partial_bytes=_line(shared["partial_bytes"]).per_million,
        modes={mode: _mode(rows, cores) for mode, rows in by_mode.items()},
    )


def predicted_and_measured(measurements: Sequence[Measurement], fitted_sizes: Collection[int]) -> list[Prediction]:
    """Predictions for every size that is not one of ``fitted_sizes``, from lines through these sizes only.

    A quantity that was not measured at one of both kinds of sizes is left out.
    """
    rows = rows_by_source(measurements, {what: source for what, (source, _) in PREDICTED.items()})
    predictions = []
    for what, (_, unit) in PREDICTED.items():
        fitted = totals(row for row in rows[what] if row.size in fitted_sizes)
        others = totals(row for row in rows[what] if row.size not in fitted_sizes)
        for millions, measured in others.items() if fitted else ():
            predicted = Line.through(fitted).at(millions)
            predictions.append(Prediction(what, unit, round(millions * 1e6), predicted, measured))
    return predictions


def _mode(rows: Mapping[str, Sequence[Measurement]], cores: float) -> ModeCoefficients:
    proof = _line(rows["proof_seconds"])
    return ModeCoefficients(
        live_cores=middle(rows["live_cores"]),
        freshness_p50=middle(rows["freshness_p50"]),
        freshness_p99=middle(rows["freshness_p99"]),
        fixed_seconds={part: middle(rows[part]) for part in FIXED_PARTS},
        proof_seconds=Line(proof.fixed, proof.per_million * cores),
    )


def _line(rows: Sequence[Measurement]) -> Line:
    return Line.through(totals(rows))


def _rate(rows: Mapping[str, Sequence[Measurement]], name: str, cores: float) -> float:
    """Records per second of one core."""
    seconds = _line(rows[name]).per_million
    if not seconds:
        raise _does_not_grow(SHARED[name])
    return 1e6 / seconds / cores


def _does_not_grow(source: Source) -> Refused:
    return Refused(
        f"no plan follows from the study: in it, {source} does not grow with the events",
        fix=f"measure more or larger sizes: `lk study {source.section}`",
    )


def _refuse_one_size(rows: Sequence[Measurement]) -> None:
    """One size does not tell what a job costs in any case from what grows with the events."""
    sizes = {row.size for row in rows}
    if len(sizes) == 1:
        raise Refused(
            f"no plan follows from the study: all its logs have {sizes.pop():,} records, which shows no growth",
            fix="measure a log ten times as long, too: `lk study resources correction --sizes …`",
        )


def _refuse_missing(
    shared: Mapping[str, Sequence[Measurement]], by_mode: Mapping[str, Mapping[str, Sequence[Measurement]]]
) -> None:
    missing = [
        sources[name]
        for sources, rows_by_name in [(SHARED, shared), *((BY_MODE[mode], rows) for mode, rows in by_mode.items())]
        for name, rows in rows_by_name.items()
        if not rows and name not in _MAY_BE_ABSENT
    ]
    if missing:
        sections = dict.fromkeys(source.section for source in missing)
        raise Refused(
            f"the study did not measure: {', '.join(map(str, missing))}",
            fix="measure it: " + ", ".join(f"`lk study {section}`" for section in sections),
        )
