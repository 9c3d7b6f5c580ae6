"""The example of docs/plan.md is what the planner prints for the planted study."""

from __future__ import annotations

import re
from dataclasses import fields

from core.evidence.coefficients import Coefficients, ModeCoefficients
from core.evidence.fit import BY_MODE, FIXED_PARTS, SHARED
from core.evidence.study_rows import Source
from tests.support.examples import plan_page


def test_the_example_is_current() -> None:
    written = plan_page.PAGE.read_text("utf-8")
    assert plan_page.page() == written, "run `python -m tests.support.examples.plan_page`, then commit"


def test_the_page_names_every_coefficient_with_its_rows() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w-]+) \| ([^|]*) \| (\w+) \|", plan_page.PAGE.read_text("utf-8"), re.M)
    sources = SHARED | BY_MODE["kappa"]
    expected = {name: (source.question, source.part or _x(source), source.section) for name, source in sources.items()}
    assert {name: (question, part, section) for name, question, part, section in rows} == expected
    names = {field.name for field in (*fields(Coefficients), *fields(ModeCoefficients))} - {"modes", "fixed_seconds"}
    assert set(expected) == names | set(FIXED_PARTS)


def _x(source: Source) -> str:
    return "" if source.x is None else f"x = {source.x:g}"
