"""Table control.builds: what was built, view by view, and whether it passed its gate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts
from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.lake.leases import Lease
from infra.settings import Settings

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
    """What one view of a build was counted to hold, apart from its rows.

    ``expected`` are the view rows that the events give. ``used`` are the events that a keyed view was computed from,
    None of a rollup, whose rows the gate adds up. ``partitions`` is by ``topic/partition``. ``problems`` say where
    record counts do not match the offset range, ``failures`` why the gate refuses.
    """

    used: int | None = None
    expected: int = 0
    problems: tuple[str, ...] = ()
    partitions: Mapping[str, RecordCounts] = field(default_factory=dict)
    note: str = ""
    failures: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Every record is decoded or quarantined, and what is known of the rows agrees with them."""
        return not self.problems and self.used in (None, self.expected)

    def of_topic(self, topic: str) -> RecordCounts:
        """The records of all partitions of a topic."""
        own = [counts for where, counts in self.partitions.items() if where.rpartition("/")[0] == topic]
        return sum(own, RecordCounts())


@dataclass(frozen=True)
class Built:
    """One view of one build; ``passed`` is the verdict of its gate, None before it was judged."""

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


def read_builds(settings: Settings) -> list[Built]:
    """The newest row of every build and view, in the order of builds and views."""
    rows = sorted(map(_built, TABLE.read(settings)), key=lambda built: built.at)
    newest = {(build_number(built.build), built.view): built for built in rows}
    return [newest[key] for key in sorted(newest)]


def add_built(settings: Settings, lease: Lease, *built: Built) -> None:
    """Writes what was built, or what its gate found, in one commit, under the lease "batch"."""
    rows = [as_row(one, checks=_as_json(one.counts)) for one in built]
    TABLE.append(settings, lease, *({column: row[column] for column in TABLE.schema.names} for row in rows))


def build_name(number: int) -> Name:
    """The id of the n-th build: b000001 and on."""
    return Name(f"b{number:06d}")


def build_number(build: Name) -> int:
    """The number in a build's id."""
    return int(build[1:])


def _built(row: Mapping[str, Any]) -> Built:
    names = {column: Name(row[column]) for column in ("build", "view", "digest")}
    values = {column: value for column, value in row.items() if column != "checks"}
    return Built(**{**values, **names, "cut": Cut.parse(row["cut"]), "counts": _counts(row["checks"])})


def _as_json(counts: BuildCounts) -> str:
    """The column ``checks``: its keys are those of the first lakes."""
    partitions = {where: one.as_list for where, one in counts.partitions.items()}
    kept = {"problems": counts.problems, "note": counts.note, "failures": counts.failures}
    values = {"counted": counts.used, "expected": counts.expected, "ledger": partitions, **kept}
    return json.dumps(values, sort_keys=True)


def _counts(text: str) -> BuildCounts:
    values = json.loads(text)
    return BuildCounts(
        used=values["counted"],
        expected=values["expected"],
        problems=tuple(values["problems"]),
        partitions={where: RecordCounts(*counts) for where, counts in values["ledger"].items()},
        note=values["note"],
        failures=tuple(values["failures"]),
    )
