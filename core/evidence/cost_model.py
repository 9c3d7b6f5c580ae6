"""What a mode costs a month, how fresh it is, and how long a correction takes: one formula for both modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

from core.evidence.coefficients import Coefficients
from core.evidence.measurement import MODES
from core.evidence.mode_parts import Job, ModeParts, StoredBytes, mode_parts, proof_seconds
from core.evidence.quantity import trimmed
from core.evidence.workload import SECONDS_OF_A_MONTH, Prices, Workload


@dataclass(frozen=True)
class Cost:
    """An item of a month: ``amount`` in the currency of the prices, ``arithmetic`` how it is computed.

    ``kind`` is "compute" or "storage".
    """

    kind: str
    item: str
    amount: float
    arithmetic: str


@dataclass(frozen=True)
class ModePlan:
    """What the model says of a mode.

    ``freshness_p50`` and ``freshness_p99`` are measured seconds, without a batch or a replay beside.
    ``correction`` has the seconds of each part of a correction, from a changed rule to corrected history; None for the
    catch-up of a run that never catches up. ``retention_days`` is what the log must keep at least. ``disk_gb`` and
    ``peak_gb`` count the log with its replicas; the peak is while a rule changes. ``limits`` are sentences: what cannot
    work so.
    """

    mode: str
    costs: tuple[Cost, ...]
    freshness_p50: float
    freshness_p99: float
    correction: Mapping[str, float | None]
    retention_days: float
    disk_gb: float
    peak_gb: float
    limits: tuple[str, ...]

    @property
    def month(self) -> float:
        """The sum of all costs of a month."""
        return sum(cost.amount for cost in self.costs)

    @property
    def correction_seconds(self) -> float | None:
        """Seconds from a changed rule to corrected history; None if the run never catches up."""
        return _sum(self.correction)


@dataclass(frozen=True)
class GridCell:
    """Both modes for one history and one number of rule changes a month.

    The seconds are those of a correction; None if it never ends. ``cannot_run`` has the modes that the plan sets limits
    for: they cannot run as stated.
    """

    history_days: float
    rule_changes: float
    lambda_month: float
    kappa_month: float
    lambda_seconds: float | None
    kappa_seconds: float | None
    cannot_run: tuple[str, ...]

    @property
    def cheaper(self) -> str:
        """The mode that costs less."""
        return MODES[0] if self.lambda_month < self.kappa_month else MODES[1]

    @property
    def saved(self) -> float:
        """The share of the other mode's cost that the cheaper mode does not cost."""
        low, high = sorted((self.lambda_month, self.kappa_month))
        return 1 - low / high if high else 0.0


def plan(workload: Workload, prices: Prices, coefficients: Coefficients, mode: str) -> ModePlan:
    """The plan of a mode, one of MODES."""
    parts = mode_parts(workload, prices, coefficients)[mode]
    measured = coefficients.modes[mode]
    correction = _correction(workload, coefficients, parts, mode)
    seconds = _sum(correction)
    changing = 1.0 if seconds is None else min(1.0, workload.rule_changes * seconds / SECONDS_OF_A_MONTH)
    return ModePlan(
        mode=mode,
        costs=(
            *(_cost_of_job(job, prices) for job in parts.jobs),
            *(_cost_of_store(store, changing) for store in parts.stores),
        ),
        freshness_p50=measured.freshness_p50,
        freshness_p99=measured.freshness_p99,
        correction=correction,
        retention_days=parts.retention_days,
        disk_gb=sum(store.gigabytes for store in parts.stores if not store.during_change),
        peak_gb=sum(store.gigabytes for store in parts.stores),
        limits=tuple(_limits(workload, coefficients, parts)),
    )


def grid(
    workload: Workload,
    prices: Prices,
    coefficients: Coefficients,
    histories: Sequence[float],
    changes: Sequence[float],
) -> list[GridCell]:
    """Both modes for each of ``histories`` (days) and each of ``changes`` (rule changes a month), in this order."""
    cells = []
    for days in histories:
        for number in changes:
            there = replace(workload, history_days=days, rule_changes=number)
            lambda_, kappa = both = [plan(there, prices, coefficients, mode) for mode in MODES]
            seconds = lambda_.correction_seconds, kappa.correction_seconds
            cannot_run = tuple(each.mode for each in both if each.limits)
            cells.append(GridCell(days, number, lambda_.month, kappa.month, *seconds, cannot_run))
    return cells


def _correction(w: Workload, c: Coefficients, parts: ModeParts, mode: str) -> dict[str, float | None]:
    """Read and compute for t seconds; then a run at rate r reads what arrived in t·λ/(r-λ), while λ arrive."""
    spare = c.replay_rate * w.cores - w.events_per_second
    computed = parts.read_seconds + parts.compute_seconds
    fixed = c.modes[mode].fixed_seconds
    return {
        "start": fixed["start"],
        "read": fixed["read"] + parts.read_seconds,
        "compute": parts.compute_seconds,
        "catch-up": fixed["catch-up"] + computed * w.events_per_second / spare if spare > 0 else None,
        "proof": proof_seconds(w, c, mode),
        "swap": fixed["swap"],
    }


def _sum(correction: Mapping[str, float | None]) -> float | None:
    seconds = [each for each in correction.values() if each is not None]
    return sum(seconds) if len(seconds) == len(correction) else None


def _cost_of_job(job: Job, prices: Prices) -> Cost:
    hours = job.times * job.cpu.at(job.millions) / 3600
    cpu = f"{trimmed(job.millions)} million events × {trimmed(job.cpu.per_million)} s"
    if job.cpu.fixed:
        cpu = f"({trimmed(job.cpu.fixed)} s + {cpu})"
    times = "" if job.times == 1 else f"{trimmed(job.times)} × "
    arithmetic = f"{times}{cpu} ÷ 3,600 × {trimmed(prices.core_hour)}"
    return Cost("compute", job.item, hours * prices.core_hour, arithmetic)


def _cost_of_store(store: StoredBytes, changing: float) -> Cost:
    copies = f" × {trimmed(store.copies)} {store.copies_are}" if store.copies_are else ""
    text = f"{trimmed(store.millions)} million events × {trimmed(store.bytes_per_event)} bytes{copies}"
    text += f" = {trimmed(store.gigabytes)} GB × {trimmed(store.price)}"
    amount = store.gigabytes * store.price
    if store.during_change:
        return Cost("storage", store.item, amount * changing, f"{text} × {trimmed(changing)} of the month")
    return Cost("storage", store.item, amount, text)


def _limits(w: Workload, c: Coefficients, parts: ModeParts) -> Iterator[str]:
    if c.replay_rate * w.cores <= w.events_per_second:
        yield (
            f"a run never catches up on {trimmed(w.cores)} cores: they read {trimmed(c.replay_rate * w.cores)} "
            f"records/s, and {trimmed(w.events_per_second)} arrive; it needs at least "
            f"{floor(w.events_per_second / c.replay_rate) + 1:,} cores"
        )
    if parts.batch_seconds > parts.interval_seconds:
        cores = ceil(w.cores * parts.batch_seconds / parts.interval_seconds)
        yield (
            f"a batch takes {trimmed(parts.batch_seconds)} s on {trimmed(w.cores)} cores, and the next one is due "
            f"after {trimmed(parts.interval_seconds)} s; it needs about {cores:,} cores"
        )
    if parts.retention_days > parts.kept_days:
        yield (
            f"the log keeps {trimmed(parts.kept_days)} days, and {trimmed(parts.retention_days)} are needed: "
            "those between two batches, and those of a batch"
        )
