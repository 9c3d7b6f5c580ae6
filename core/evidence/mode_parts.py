"""What each mode runs and stores, as data. All that the planner knows of a difference between the modes is here."""

from __future__ import annotations

from dataclasses import dataclass

from core.evidence.coefficients import LIVE_RATE, Coefficients, Line
from core.evidence.workload import DAYS_OF_A_MONTH, SECONDS_OF_A_DAY, SECONDS_OF_A_MONTH, Prices, Workload

BUILDS = 2  # the one that serves, and the next one or the one of a rollback


@dataclass(frozen=True)
class Job:
    """A job runs so many ``times`` a month and reads ``millions`` of events each time, for ``cpu`` CPU seconds."""

    item: str
    times: float
    millions: float
    cpu: Line


@dataclass(frozen=True)
class StoredBytes:
    """Bytes that are kept: of so many ``millions`` of events, each in ``copies`` ("replicas", "builds").

    ``price`` is that of a gigabyte a month. ``during_change`` is true if they are kept only while a rule changes.
    """

    item: str
    millions: float
    bytes_per_event: float
    price: float
    copies: float = 1
    copies_are: str = ""
    during_change: bool = False

    @property
    def gigabytes(self) -> float:
        """Gigabytes (10^9 bytes) of all copies."""
        return self.millions * self.bytes_per_event * self.copies / 1e3


@dataclass(frozen=True)
class ModeParts:
    """The jobs and stores of a mode.

    A correction first reads what is not landed (``read_seconds``) and computes the history (``compute_seconds``), then
    a run reads what arrived meanwhile. ``batch_seconds`` is the time of a batch and ``interval_seconds`` that between
    two, both 0 without batches. ``retention_days`` is what the log must keep at least, ``kept_days`` what it keeps.
    """

    jobs: tuple[Job, ...]
    stores: tuple[StoredBytes, ...]
    read_seconds: float
    compute_seconds: float
    batch_seconds: float
    interval_seconds: float
    retention_days: float
    kept_days: float


def mode_parts(workload: Workload, prices: Prices, coefficients: Coefficients) -> dict[str, ModeParts]:
    """The parts of each mode."""
    return {
        "lambda": _lambda(workload, prices, coefficients),
        "kappa": _kappa(workload, prices, coefficients),
    }


def proof_seconds(w: Workload, c: Coefficients, mode: str) -> float:
    """Seconds of a proof of the whole history: a gate in Lambda, a comparison in Kappa."""
    proof = c.modes[mode].proof_seconds
    return proof.fixed + proof.per_million * w.millions(w.history_days) / w.cores


def _lambda(w: Workload, p: Prices, c: Coefficients) -> ModeParts:
    history, share = w.millions(w.history_days), w.millions(w.days_between_batches)
    batches = w.batches_per_day * DAYS_OF_A_MONTH
    build_and_gate = Line(c.build_cpu.fixed, c.build_cpu.per_million + c.gate_cpu)
    read, compute = share * 1e6 / c.land_rate / w.cores, history * 1e6 / c.build_rate / w.cores
    batch = read + compute + proof_seconds(w, c, "lambda")
    return ModeParts(
        jobs=(
            *_live_jobs(w, c, "lambda"),
            Job("batches: landing", batches, share, Line(0, c.land_cpu)),
            Job("batches: build and gate", batches, history, build_and_gate),
            Job("corrections: build and gate", w.rule_changes, history, build_and_gate),
        ),
        stores=(
            _log(w, p, w.retention_days),
            _archive(w, p, c),
            StoredBytes("builds", history, c.build_bytes, p.gb_month, BUILDS, "builds"),
            StoredBytes("partial rows", share, c.partial_bytes, p.gb_month),
        ),
        read_seconds=read,
        compute_seconds=compute,
        batch_seconds=batch,
        interval_seconds=w.days_between_batches * SECONDS_OF_A_DAY,
        retention_days=w.days_between_batches + batch / SECONDS_OF_A_DAY,
        kept_days=w.retention_days,
    )


def _kappa(w: Workload, p: Prices, c: Coefficients) -> ModeParts:
    history = w.millions(w.history_days)
    # A proof lands what arrived since the last one, and builds; `lk cleanup` keeps the archive and the last build.
    landing = Job("corrections: landing", 1, w.millions(DAYS_OF_A_MONTH), Line(0, c.land_cpu))
    of_proofs = (_archive(w, p, c), StoredBytes("builds", history, c.build_bytes, p.gb_month, 1, "build"))
    second_run = StoredBytes("second run", history, c.partial_bytes, p.gb_month, during_change=True)
    return ModeParts(
        jobs=(
            *_live_jobs(w, c, "kappa"),
            Job("corrections: replay", w.rule_changes, history, c.replay_cpu),
            Job("corrections: proof", w.rule_changes, history, c.proof_cpu),
            *((landing,) if w.rule_changes else ()),
        ),
        stores=(
            _log(w, p, w.history_days),
            StoredBytes("partial rows", history, c.partial_bytes, p.gb_month),
            *((*of_proofs, second_run) if w.rule_changes else ()),
        ),
        read_seconds=0,
        compute_seconds=history * 1e6 / c.replay_rate / w.cores,
        batch_seconds=0,
        interval_seconds=0,
        retention_days=w.history_days,
        kept_days=w.history_days,
    )


def _live_jobs(w: Workload, c: Coefficients, mode: str) -> tuple[Job, ...]:
    """An epoch costs the same however few events it has: the cores of the slow live load, less what its events cost."""
    month = w.millions(DAYS_OF_A_MONTH)
    idle_cores = max(0.0, c.modes[mode].live_cores - c.live_cpu * LIVE_RATE / 1e6)
    return (
        Job("live run", 1, month, Line(idle_cores * SECONDS_OF_A_MONTH, c.live_cpu)),
        Job("live run: late events", 1, month * w.late_share, Line(0, c.late_cpu)),
    )


def _log(w: Workload, p: Prices, days: float) -> StoredBytes:
    return StoredBytes("log", w.millions(days), w.bytes_per_event, p.log_gb_month, p.log_replicas, "replicas")


def _archive(w: Workload, p: Prices, c: Coefficients) -> StoredBytes:
    """The archive holds the bytes of the records: it grows with their size as the log does."""
    bytes_per_event = w.bytes_per_event * c.archive_bytes / c.log_bytes
    return StoredBytes("archive", w.millions(w.history_days), bytes_per_event, p.gb_month)
