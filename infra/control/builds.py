"""Table control.builds: one row per build and view, and whether the view passed the gate."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts, of_topic
from infra.control.store import TEXT, TIME, ControlTable, as_row, later_than_stored, stored_times
from infra.lake.leases import Lease
from infra.settings import Settings

UNPROVEN_KEPT = 10  # builds of a view since the last that passed, which may still pass; earlier ones are given up
How = Literal["full", "incremental", "range"]
TABLE = ControlTable(
    "builds",
    pa.schema(
        {"build": TEXT, "view": TEXT, "digest": TEXT, "cut": TEXT, "path": TEXT, "rows": pa.int64()}
        | {"ledger_ok": pa.bool_(), "checks": TEXT, "passed": pa.bool_(), "at": TIME, "seconds": pa.float64()}
        | {"how": TEXT}
    ),
)


@dataclass(frozen=True)
class BuildCounts:
    """The records and events that were counted for one view of a build, apart from its rows.

    ``expected`` is the number of view rows that the events give. ``used`` is the number of events that a keyed view was
    computed from; it is None for a rollup, whose rows the gate adds up. ``partitions`` has a key ``topic/partition``
    for each. ``problems`` say where record counts do not match the offset range, ``failures`` why the gate refuses.
    """

    used: int | None = None
    expected: int = 0
    problems: tuple[str, ...] = ()
    partitions: Mapping[str, RecordCounts] = field(default_factory=dict)
    note: str = ""
    failures: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every record is decoded or quarantined, and the events used are the events expected."""
        return not self.problems and self.used in (None, self.expected)

    def of_topic(self, topic: str) -> RecordCounts:
        """The record counts of a topic, over all partitions."""
        return of_topic(self.partitions, topic)


@dataclass(frozen=True)
class Built:
    """One view of one build; ``passed`` is the verdict of the gate, None before the gate."""

    build: Name
    view: Name
    digest: Name
    cut: Cut
    path: str
    rows: int
    ledger_ok: bool
    counts: BuildCounts
    passed: bool | None
    at: datetime
    seconds: float
    how: How


@dataclass(frozen=True)
class PassedBuild:
    """One view of a build that has passed its gate, without the counts, which are most of a row of the table."""

    build: Name
    view: Name
    digest: Name
    cut: Cut
    rows: int
    seconds: float
    how: How


def read_builds(settings: Settings, builds: Collection[Name] | None = None) -> list[Built]:
    """The newest row of every view of some builds, or of all, in the order of builds and views."""
    chosen = None if builds is None else pc.field("build").isin(pa.array(sorted(builds), TEXT))
    by_time = sorted(map(_built, TABLE.read(settings, where=chosen)), key=lambda built: built.at)
    newest = {(build_number(built.build), built.view): built for built in by_time}
    return [newest[key] for key in sorted(newest)]


def build_times(settings: Settings, build: Name) -> tuple[datetime, datetime]:
    """When the first view of a build began, and when the last one was built; the gate is not part of it."""
    rows = TABLE.read(settings, ("at", "seconds", "passed"), pc.field("build") == str(build))
    built = [row for row in rows if row["passed"] is None]
    return min(row["at"] - timedelta(seconds=row["seconds"]) for row in built), max(row["at"] for row in built)


def passed_builds(settings: Settings, view: Name | None = None, digest: Name | None = None) -> list[PassedBuild]:
    """Every view of every build whose last verdict is that it passed, in the order of builds and views.

    Of one view, or of one definition of it, if they are given.
    """
    columns = ("build", "view", "digest", "cut", "rows", "seconds", "how", "passed", "at")
    chosen = {name: value for name, value in (("view", view), ("digest", digest)) if value is not None}
    conditions = [pc.field(name) == str(value) for name, value in chosen.items()]
    of_view = reduce(and_, conditions) if conditions else None
    last = _last_verdicts(settings, of_view)
    passed = pc.field("build").isin(pc.unique(last["build"].filter(pc.equal(last["passed_last"], pa.scalar(True)))))
    rows = TABLE.read(settings, columns, passed if of_view is None else of_view & passed)
    newest = {(build_number(row["build"]), row["view"]): row for row in sorted(rows, key=lambda row: row["at"])}
    return [
        PassedBuild(
            build=Name(row["build"]),
            view=Name(row["view"]),
            digest=Name(row["digest"]),
            cut=Cut.parse(row["cut"]),
            rows=row["rows"],
            seconds=row["seconds"],
            how=row["how"],
        )
        for _, row in sorted(newest.items())
        if row["passed"]
    ]


def verdicts(settings: Settings) -> dict[tuple[Name, Name], bool | None]:
    """View and build -> its last verdict: True, or None before the gate. Without what failed or was deleted.

    After years nearly all builds were deleted, so that only few rows leave Arrow.
    """
    last = _last_verdicts(settings)
    kept = last.filter(pc.fill_null(last["passed_last"], fill_value=True))
    return {(Name(row["view"]), Name(row["build"])): row["passed_last"] for row in kept.to_pylist()}


def unusable_builds(settings: Settings, builds: Collection[Name]) -> set[tuple[Name, Name]]:
    """View and build of what has not passed its gate or was deleted, of some builds."""
    rows = _last_verdicts(settings, pc.field("build").isin(pa.array(sorted(builds), TEXT))).to_pylist()
    return {(Name(row["view"]), Name(row["build"])) for row in rows if not row["passed_last"]}


def _last_verdicts(settings: Settings, where: pc.Expression | None = None) -> pa.Table:
    """One row for each view and build; the counts, which are most of a row of the table, are not read."""
    rows = TABLE.read_arrow(settings, ("view", "build", "passed", "at"), where).sort_by("at")
    newest = ("passed", "last", pc.ScalarAggregateOptions(skip_nulls=False, min_count=0))
    return rows.group_by(["view", "build"], use_threads=False).aggregate([newest])


def add_built(settings: Settings, lease: Lease, *built: Built) -> None:
    """Writes views that were built or checked, in one commit, under the lease "batch"."""
    stored = stored_times(TABLE, settings, (view.build for view in built))
    rows = [as_row(replace(b, at=later_than_stored(b.at, stored)), checks=_as_json(b.counts)) for b in built]
    TABLE.append(settings, lease, *({column: row[column] for column in TABLE.schema.names} for row in rows))


def build_name(number: int) -> Name:
    """The id of a build: b000001 for number 1."""
    return Name(f"b{number:06d}")


def build_number(build: Name) -> int:
    """The number in the id of a build."""
    return int(build[1:])


def _built(row: Mapping[str, Any]) -> Built:
    names = {column: Name(row[column]) for column in ("build", "view", "digest")}
    values = {column: value for column, value in row.items() if column != "checks"}
    return Built(**{**values, **names, "cut": Cut.parse(row["cut"]), "counts": _counts(row["checks"])})


def _as_json(counts: BuildCounts) -> str:
    """The column ``checks``. Its keys are those of the first lakes, so that older rows can be read."""
    values = {
        "counted": counts.used,
        "expected": counts.expected,
        "ledger": {where: count.as_list for where, count in counts.partitions.items()},
        "problems": counts.problems,
        "note": counts.note,
        "failures": counts.failures,
    }
    return json.dumps(values, sort_keys=True)


def _counts(text: str) -> BuildCounts:
    values = json.loads(text)
    return BuildCounts(
        used=values["counted"],
        expected=values["expected"],
        problems=tuple(values["problems"]),
        partitions={where: RecordCounts(*count) for where, count in values["ledger"].items()},
        note=values["note"],
        failures=tuple(values["failures"]),
    )
