"""What the gate found, check by check: a Delta table that Trino shows as control.quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from core.checks import Severity
from core.identifiers import Name
from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.lake.leases import Lease
from infra.settings import Settings

TABLE = ControlTable(
    "quality",
    pa.schema(
        dict.fromkeys(("build", "view", "check", "severity"), TEXT)
        | {"success": pa.bool_(), "unexpected": pa.int64()}
        | dict.fromkeys(("found", "expected", "exception", "first", "detail"), TEXT)
        | {"at": TIME, "seconds": pa.float64()}
    ),
)


@dataclass(frozen=True)
class CheckResult:
    """One check of one view of a build, or of a topic: then ``view`` is ``topic:<name>``.

    ``unexpected`` are the rows that break it, where it counts rows; ``first`` is JSON: the keys of some of them.
    ``exception`` says why it could not be evaluated; ``detail`` is what was asked.
    """

    build: Name
    view: str
    check: str
    severity: Severity
    success: bool
    unexpected: int | None
    found: str | None
    expected: str | None
    exception: str | None
    first: str
    detail: str
    at: datetime
    seconds: float


def add_results(settings: Settings, lease: Lease, found: Sequence[CheckResult]) -> None:
    """Writes all that one gate found in one commit, under the lease "batch"."""
    TABLE.append(settings, lease, *(as_row(one) for one in found))


def of_build(settings: Settings, build: Name) -> list[CheckResult]:
    """Every check of a build, of each view (or topic) those that were asked last, in the order in which they were."""
    rows = [row for row in TABLE.read(settings) if row["build"] == build]
    last = {row["view"]: max(other["at"] for other in rows if other["view"] == row["view"]) for row in rows}
    return [_checked(row) for row in rows if row["at"] == last[row["view"]]]


def last_judged_build(settings: Settings) -> Name | None:
    """The build that was judged last."""
    rows = TABLE.read(settings)
    return Name(max(rows, key=lambda row: row["at"])["build"]) if rows else None


def pages(settings: Settings, build: Name) -> Path:
    """The first page of what the gate found of a build."""
    return settings.data / "quality" / build / "index.html"


def _checked(row: dict[str, Any]) -> CheckResult:
    return CheckResult(**{**row, "build": Name(row["build"])})
