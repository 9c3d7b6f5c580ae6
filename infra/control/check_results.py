"""Table control.quality: the result of each of the gate's checks. Trino shows it under that name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from core.checks import Severity
from core.identifiers import Name
from infra.control.store import TEXT, TIME, ControlTable, as_row, later_than_stored, stored_times
from infra.lake.leases import Lease
from infra.settings import Settings

TOPIC = "topic:"  # before the name of a topic in the column ``view``
Bound = Literal["equal", "at_least"]
TABLE = ControlTable(
    "quality",
    pa.schema(
        dict.fromkeys(("build", "view", "check", "severity"), TEXT)
        | {"success": pa.bool_(), "unexpected": pa.int64()}
        | dict.fromkeys(("found", "expected", "exception", "first", "detail"), TEXT)
        | {"at": TIME, "seconds": pa.float64(), "comparison": TEXT}
    ),
)


@dataclass(frozen=True)
class CheckResult:
    """One check of one view of a build, or of a topic: then ``view`` is ``topic:<name>``.

    ``observed`` is the value (column ``found``), ``expected`` what ``comparison`` compares it with, both as text.
    ``unexpected`` is the number of rows that break the check, where it counts rows; ``first`` is JSON for people: the
    keys of some of them. ``exception`` says why the check could not be evaluated; ``detail`` says what it counts.
    """

    build: Name
    view: str
    check: str
    severity: Severity
    success: bool
    unexpected: int | None
    observed: str | None
    expected: str | None
    exception: str | None
    first: str
    detail: str
    at: datetime
    seconds: float
    comparison: Bound = "equal"

    @property
    def examples(self) -> str:
        """The keys of some rows that break the check, as JSON for people; "" if there are none."""
        return "" if self.first in ("", "[]") else self.first

    @property
    def bound(self) -> str:
        """The expected value with the comparison, for people."""
        return f"at least {self.expected}" if self.comparison == "at_least" else str(self.expected)


def add_results(settings: Settings, lease: Lease, results: Sequence[CheckResult]) -> None:
    """Writes all results of one gate in one commit, under the lease "batch"."""
    stored = stored_times(TABLE, settings, (result.build for result in results))
    TABLE.append(
        settings, lease, *(_row(replace(result, at=later_than_stored(result.at, stored))) for result in results)
    )


def of_build(settings: Settings, build: Name) -> list[CheckResult]:
    """The results of a build: for each view (or topic) those of its last evaluation, in the order of evaluation."""
    rows = TABLE.read(settings, where=pc.field("build") == build)
    last: dict[str, datetime] = {}
    for row in rows:
        last[row["view"]] = max(row["at"], last.get(row["view"], row["at"]))
    return [_result(row) for row in rows if row["at"] == last[row["view"]]]


def last_checked_build(settings: Settings) -> Name | None:
    """The build that was checked last. The table of years stays in Arrow: it has a row for each check of each build."""
    rows = TABLE.read_arrow(settings, ("build", "at"))
    if rows.num_rows == 0:
        return None
    return Name(rows["build"][pc.index(rows["at"], pc.max(rows["at"])).as_py()].as_py())


def _row(result: CheckResult) -> dict[str, Any]:
    fields = as_row(result)
    return {"found": fields.pop("observed"), **fields}


def _result(row: Mapping[str, Any]) -> CheckResult:
    fields = {name: value for name, value in row.items() if name != "found"}
    comparison = row.get("comparison") or "equal"  # an older lake has no such column
    return CheckResult(**{**fields, "observed": row["found"], "build": Name(row["build"]), "comparison": comparison})
