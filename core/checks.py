"""Data-quality checks that a view's file declares for its builds. Data only; gate_checks.py turns them into SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["critical", "warning"]  # a failed critical check refuses the build; a failed warning is reported


@dataclass(frozen=True)
class Check:
    """A Spark SQL predicate over stored columns that every row of a build must satisfy."""

    name: str
    sql: str
    severity: Severity = "critical"


@dataclass(frozen=True)
class Total:
    """Two Spark SQL aggregates of one build that must be equal: ``sql`` over the view, ``other_sql`` over ``other``.

    A build without the other view skips the check. Divide with ``div``: floating point does not add up exactly.
    """

    name: str
    sql: str
    other: str
    other_sql: str
    severity: Severity = "critical"


@dataclass(frozen=True)
class Fresh:
    """A Spark SQL aggregate, a timestamp, that is at most ``within`` milliseconds before the claim of the build."""

    name: str
    sql: str
    within: int
    severity: Severity = "critical"


AnyCheck = Check | Total | Fresh
