"""The tables that `lk plan` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from flows.measure.console import plain_table
from flows.plan import plan_texts
from flows.plan.plan_texts import SUM, PlanTable
from flows.plan.run_plan import PlanReport


def show(report: PlanReport) -> None:
    """Prints the plan; 120 columns wide without a terminal."""
    out = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    for title, part in _parts(report):
        out.print(Rule(f"[bold]{title}", align="left", style="dim"))
        out.print(part)
        out.print()


def _parts(report: PlanReport) -> Iterable[tuple[str, RenderableType]]:
    modes = _table(plan_texts.modes(report.plans))
    yield f"{plan_texts.load(report)}: dollars a month", Group(modes, *_verdict(report))
    yield plan_texts.BREAK_EVENS, _table(plan_texts.break_evens(report))
    yield plan_texts.ARITHMETIC, _table(plan_texts.arithmetic(report.plans))
    yield plan_texts.TRUST, _trust(report)


def _verdict(report: PlanReport) -> Iterable[Text]:
    yield Text(f"\n{plan_texts.cheaper(report)}", style="bold")
    yield Text(plan_texts.nearest(report))
    yield from (Text(limit, style="yellow") for limit in plan_texts.limits(report))


def _trust(report: PlanReport) -> RenderableType:
    predictions, notes = plan_texts.predictions(report), Text("\n".join(plan_texts.notes(report)))
    return Group(_table(predictions), notes) if predictions else notes


def _table(texts: PlanTable) -> Table:
    table = plain_table(*texts.columns)
    for place, column in enumerate(table.columns):
        column.justify = "right" if place in texts.right else "left"
    table.columns[-1].no_wrap = len(texts.columns) - 1 in texts.right  # a text in the last column may be long
    for row in texts.rows:
        is_sum = row[0] == SUM
        table.add_row(*row, style="bold" if is_sum else None, end_section=is_sum)
    return table
