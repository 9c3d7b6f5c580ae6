"""Table control.builds: what was built, view by view, and whether it passed its gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from core.cut import Cut
from core.identifiers import Name
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
class Built:
    """One view of one build; ``passed`` is what its gate found, None before it was judged.

    ``checks`` is JSON: what the ledger counted and, once it was judged, why the gate refuses it.
    """

    build: Name
    view: Name
    digest: Name
    cut: Cut
    path: str
    rows: int
    ledger_ok: bool
    checks: str
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
    TABLE.append(settings, lease, *map(as_row, built))


def build_name(number: int) -> Name:
    """The id of the n-th build: b000001 and on."""
    return Name(f"b{number:06d}")


def build_number(build: Name) -> int:
    """The number in a build's id."""
    return int(build[1:])


def _built(row: Mapping[str, Any]) -> Built:
    names = {column: Name(row[column]) for column in ("build", "view", "digest")}
    return Built(**{**row, **names, "cut": Cut.parse(row["cut"])})
