"""The tables that `lk plan` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from core.evidence.break_even import RANGE
from core.evidence.cost_model import Cost, ModePlan
from core.evidence.quantity import trimmed
from flows.measure.console import plain_table
from flows.plan.run_plan import PlanReport

_UNITS = (("days", 86_400), ("h", 3_600), ("min", 60))


def show(report: PlanReport) -> None:
    """Prints the plan; 120 columns wide without a terminal."""
    out = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for title, part in _parts(report):
        out.print(Rule(f"[bold]{title}", align="left", style="dim"))
        out.print(part)
        out.print()


def duration(seconds: float | None) -> str:
    """A time in a unit that people read; "never" for one that does not end."""
    if seconds is None:
        return "never"
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= 2 * size), ("s", 1))
    return f"{trimmed(seconds / size)} {unit}"


def _parts(report: PlanReport) -> Iterable[tuple[str, RenderableType]]:
    workload = report.workload
    yield (
        f"{trimmed(workload.events_per_second)} events/s of {trimmed(workload.bytes_per_event)} bytes, "
        f"{trimmed(workload.history_days)} days of history: dollars a month",
        Group(_modes(report.plans), *_verdict(report)),
    )
    yield "At which value both modes cost the same, while all others stay as they are", _break_evens(report)
    yield "How each item is computed", _arithmetic(report.plans)
    yield "How far to trust it", _trust(report)


def _modes(plans: Sequence[ModePlan]) -> Table:
    table = plain_table("", *(each.mode.capitalize() for each in plans))
    for kind in ("compute", "storage"):
        for item in dict.fromkeys(cost.item for each in plans for cost in each.costs if cost.kind == kind):
            table.add_row(item, *(_dollars(each.costs, item) for each in plans))
    table.add_row("sum", *(f"{each.month:,.2f}" for each in plans), style="bold", end_section=True)
    table.add_row("freshness p50", *(duration(each.freshness_p50) for each in plans))
    table.add_row("freshness p99", *(duration(each.freshness_p99) for each in plans))
    table.add_row("time to corrected history", *(duration(each.correction_seconds) for each in plans))
    table.add_row("the log must keep", *(duration(each.retention_days * 86_400) for each in plans))
    table.add_row("disk, with the log", *(f"{trimmed(each.disk_gb)} GB" for each in plans))
    table.add_row("disk while a rule changes", *(f"{trimmed(each.peak_gb)} GB" for each in plans))
    return table


def _dollars(costs: Sequence[Cost], item: str) -> str:
    amounts = [cost.amount for cost in costs if cost.item == item]
    return f"{sum(amounts):,.2f}" if amounts else "–"


def _verdict(report: PlanReport) -> Iterable[Text]:
    cheaper, nearest = report.cheaper.mode.capitalize(), report.nearest
    yield Text(f"\n{cheaper} costs {report.difference:,.2f} less a month.", style="bold")
    if nearest is None or nearest.value is None:
        yield Text(f"No setting changes that within a factor of {RANGE:,}.")
    else:
        yield Text(
            f"The nearest setting that changes that: {nearest.text}. Both modes cost the same at "
            f"{trimmed(nearest.value)} (now {trimmed(nearest.today)})."
        )
    for each in report.plans:
        for limit in each.limits:
            yield Text(f"{each.mode.capitalize()} cannot run as stated: {limit}.", style="yellow")


def _break_evens(report: PlanReport) -> Table:
    table = plain_table("setting", "now", "the same cost at", "cheaper above that")
    for each in sorted(report.break_evens, key=lambda each: (each.value is None, each.factor or 0)):
        at = "no value" if each.value is None else trimmed(each.value)
        table.add_row(each.text, trimmed(each.today), at, each.above.capitalize())
    return table


def _arithmetic(plans: Sequence[ModePlan]) -> Table:
    table = plain_table("", "", "a month", "arithmetic", left=2)
    table.columns[-1].justify, table.columns[-1].no_wrap = "left", False
    for each in plans:
        for place, cost in enumerate(each.costs):
            mode = "" if place else each.mode.capitalize()
            table.add_row(mode, cost.item, f"{cost.amount:,.2f}", cost.arithmetic)
        steps = " + ".join(f"{step} {duration(seconds)}" for step, seconds in each.correction.items() if seconds != 0)
        table.add_row("", "time to corrected history", duration(each.correction_seconds), steps)
    return table


def _trust(report: PlanReport) -> RenderableType:
    notes = [f"{report.rows:,} measured values of {report.study}"]
    if report.busy:
        notes.append(f"{report.busy:,} of them were measured while other programs used the machine")
    if not report.coefficients.late_cpu:
        notes.append("what late events cost more than others was not measured: they cost nothing more here")
    if not report.predictions:
        notes.append("no prediction could be checked: that needs three sizes")
        return Text("\n".join(notes))
    table = plain_table("predicted for a size that was not fitted", "records", "unit", "predicted", "measured", "error")
    for row in report.predictions:
        values = trimmed(row.predicted), trimmed(row.measured)
        table.add_row(row.what, f"{row.size:,}", row.unit, *values, f"{row.error:+.1%}")
    fitted = " and ".join(f"{size:,}" for size in report.sizes[:-1])
    return Group(table, Text("\n".join([f"this table's lines go through {fitted} records", *notes])))
