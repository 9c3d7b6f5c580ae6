"""What `lk plan` and the page of the planner say: the same tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.evidence.break_even import RANGE
from core.evidence.cost_model import Cost, ModePlan
from core.evidence.quantity import trimmed
from flows.plan.run_plan import PlanReport

SUM = "sum"  # the row of all costs
BREAK_EVENS = "At which value both modes cost the same, while all others stay as they are"
ARITHMETIC = "How each item is computed"
TRUST = "How far to trust it"
_UNITS = (("days", 86_400), ("h", 3_600), ("min", 60))

Row = tuple[str, ...]


@dataclass(frozen=True)
class PlanTable:
    """A table of texts; ``right`` are the places of the columns that are aligned to the right: numbers above all."""

    columns: Row
    rows: tuple[Row, ...]
    right: tuple[int, ...]


def duration(seconds: float | None) -> str:
    """A time in a unit that people read; "never" for one that does not end."""
    if seconds is None:
        return "never"
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= 2 * size), ("s", 1))
    return f"{trimmed(seconds / size)} {unit}"


def load(report: PlanReport) -> str:
    """The load that the plan is for."""
    workload = report.workload
    return (
        f"{trimmed(workload.events_per_second)} events/s of {trimmed(workload.bytes_per_event)} bytes, "
        f"{trimmed(workload.history_days)} days of history"
    )


def modes(plans: Sequence[ModePlan]) -> PlanTable:
    """The costs of each mode, item by item, and what else it is like."""
    return PlanTable(("", *(each.mode.capitalize() for each in plans)), tuple(_rows_of_modes(plans)), right=(1, 2))


def cheaper(report: PlanReport) -> str:
    """Which mode costs less."""
    return f"{report.cheaper.mode.capitalize()} costs {report.difference:,.2f} less a month."


def nearest(report: PlanReport) -> str:
    """Which setting would change that."""
    setting = report.nearest
    if setting is None or setting.value is None:
        return f"No setting changes that within a factor of {RANGE:,}."
    return (
        f"The nearest setting that changes that: {setting.text}. Both modes cost the same at "
        f"{trimmed(setting.value)} (now {trimmed(setting.today)})."
    )


def limits(report: PlanReport) -> tuple[str, ...]:
    """What cannot work as stated."""
    return tuple(
        f"{each.mode.capitalize()} cannot run as stated: {limit}." for each in report.plans for limit in each.limits
    )


def break_evens(report: PlanReport) -> PlanTable:
    """At which value of a setting both modes cost the same."""
    ordered = sorted(report.break_evens, key=lambda each: (each.value is None, each.factor or 0))
    rows = tuple((each.text, trimmed(each.today), _value(each.value), each.above.capitalize()) for each in ordered)
    return PlanTable(("setting", "now", "the same cost at", "cheaper above that"), rows, right=(1, 2, 3))


def arithmetic(plans: Sequence[ModePlan]) -> PlanTable:
    """How each item is computed."""
    return PlanTable(("", "", "a month", "arithmetic"), tuple(_rows_of_arithmetic(plans)), right=(2,))


def predictions(report: PlanReport) -> PlanTable | None:
    """What the model predicts for a size that was not fitted; None without one."""
    rows = tuple(
        (row.what, f"{row.size:,}", row.unit, trimmed(row.predicted), trimmed(row.measured), f"{row.error:+.1%}")
        for row in report.predictions
    )
    columns = ("predicted for a size that was not fitted", "records", "unit", "predicted", "measured", "error")
    return PlanTable(columns, rows, right=(1, 2, 3, 4, 5)) if rows else None


def notes(report: PlanReport) -> tuple[str, ...]:
    """How far the numbers can be trusted."""
    sentences = [f"{report.rows:,} measured values of {report.study}"]
    if report.busy:
        sentences.append(f"{report.busy:,} of them were measured while other programs used the machine")
    if not report.coefficients.late_cpu:
        sentences.append("what late events cost more than others was not measured: they cost nothing more here")
    if not report.predictions:
        return (*sentences, "no prediction could be checked: that needs three sizes")
    fitted = " and ".join(f"{size:,}" for size in report.sizes[:-1])
    return (f"this table's lines go through {fitted} records", *sentences)


def _rows_of_modes(plans: Sequence[ModePlan]) -> Iterable[Row]:
    for kind in ("compute", "storage"):
        for item in dict.fromkeys(cost.item for each in plans for cost in each.costs if cost.kind == kind):
            yield item, *(_dollars(each.costs, item) for each in plans)
    yield SUM, *(f"{each.month:,.2f}" for each in plans)
    yield "freshness p50", *(duration(each.freshness_p50) for each in plans)
    yield "freshness p99", *(duration(each.freshness_p99) for each in plans)
    yield "time to corrected history", *(duration(each.correction_seconds) for each in plans)
    yield "the log must keep", *(duration(each.retention_days * 86_400) for each in plans)
    yield "disk, with the log", *(f"{trimmed(each.disk_gb)} GB" for each in plans)
    yield "disk while a rule changes", *(f"{trimmed(each.peak_gb)} GB" for each in plans)


def _rows_of_arithmetic(plans: Sequence[ModePlan]) -> Iterable[Row]:
    for each in plans:
        for place, cost in enumerate(each.costs):
            mode = "" if place else each.mode.capitalize()
            yield mode, cost.item, f"{cost.amount:,.2f}", cost.arithmetic
        steps = " + ".join(f"{step} {duration(seconds)}" for step, seconds in each.correction.items() if seconds != 0)
        yield "", "time to corrected history", duration(each.correction_seconds), steps


def _dollars(costs: Sequence[Cost], item: str) -> str:
    amounts = [cost.amount for cost in costs if cost.item == item]
    return f"{sum(amounts):,.2f}" if amounts else "–"


def _value(value: float | None) -> str:
    return "no value" if value is None else trimmed(value)
