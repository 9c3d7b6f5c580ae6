"""The page of the planner: both modes for the load and the prices that its reader gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from core.errors import LkError, Usage
from core.evidence.break_even import SETTINGS
from core.evidence.workload import Prices, Workload
from core.safe_text import one_line
from flows.plan import plan_texts
from flows.plan.plan_texts import PlanTable
from flows.plan.run_plan import PlanReport, run_plan

PATH = "/plan"
_TEXTS = SETTINGS | {"log_replicas": "replicas of the log"}


@dataclass(frozen=True)
class PlanField:
    """A number that the reader may change, as the page shows it."""

    name: str
    text: str
    value: str


@dataclass(frozen=True)
class Plan:
    """The answer: sentences and tables as `lk plan` prints them."""

    load: str
    verdict: tuple[str, ...]
    limits: tuple[str, ...]
    tables: tuple[tuple[str, PlanTable], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PlanPage:
    """The form, and what follows from it: a plan, or why there is none."""

    fields: tuple[PlanField, ...]
    plan: Plan | None
    problem: str


def plan_page(given: Mapping[str, str]) -> PlanPage:
    """The page for these values, by the name of their setting; a setting without one has its default."""
    try:
        workload, prices = Workload(**_numbers(Workload, given)), Prices(**_numbers(Prices, given))
        return PlanPage(_form(given), _plan(run_plan(workload, prices)), "")
    except LkError as error:
        return PlanPage(_form(given), None, one_line(f"{error.what}: {error.fix}" if error.fix else error.what))


def _numbers(of: type[Workload | Prices], given: Mapping[str, str]) -> dict[str, float]:
    return {field.name: _number(field.name, given[field.name]) for field in fields(of) if field.name in given}


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Usage(f"{name} is {text[:20]!r}", fix="give a number") from None


def _form(given: Mapping[str, str]) -> tuple[PlanField, ...]:
    return tuple(
        PlanField(field.name, _TEXTS[field.name], given.get(field.name, f"{field.default:g}"))
        for of in (Workload, Prices)
        for field in fields(of)
    )


def _plan(report: PlanReport) -> Plan:
    tables = [
        ("Dollars a month", plan_texts.modes(report.plans)),
        (plan_texts.BREAK_EVENS, plan_texts.break_evens(report)),
        (plan_texts.ARITHMETIC, plan_texts.arithmetic(report.plans)),
    ]
    predictions = plan_texts.predictions(report)
    return Plan(
        plan_texts.load(report),
        (plan_texts.cheaper(report), plan_texts.nearest(report)),
        plan_texts.limits(report),
        (*tables, *([(plan_texts.TRUST, predictions)] if predictions else [])),
        plan_texts.notes(report),
    )
