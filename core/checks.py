"""What a view's file may ask of a build before it is published. Data only; suite.py makes questions of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["critical", "warning"]  # one that fails refuses the build; the other is shown


@dataclass(frozen=True)
class Check:
    """A Spark SQL predicate over stored columns that every row of a build must satisfy."""

    name: str
    sql: str
    severity: Severity = "critical"


@dataclass(frozen=True)
class Total:
    """Two Spark SQL aggregates that must be equal: ``sql`` over the view, ``other_sql`` over ``other``, of one build.

    A claim without the other view cannot ask it. Divide with ``div``: floating point does not add up exactly.
    """

    name: str
    sql: str
    other: str
    other_sql: str
    severity: Severity = "critical"


@dataclass(frozen=True)
class Fresh:
    """A Spark SQL aggregate, a time, that may be ``within`` milliseconds before the build was claimed, not more."""

    name: str
    sql: str
    within: int
    severity: Severity = "critical"


AnyCheck = Check | Total | Fresh
