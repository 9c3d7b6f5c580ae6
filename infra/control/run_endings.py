"""Table control.endings: runs that ended, abandoned before they served or retired after. Ids are not used again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import pyarrow as pa

from core.identifiers import Name
from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.lake.leases import Lease
from infra.settings import Settings

TABLE = ControlTable(
    "endings",
    pa.schema({"run": TEXT, "how": TEXT, "at": TIME, "who": TEXT, "why": TEXT}),
)


@dataclass(frozen=True)
class RunEnding:
    """The end of a run: how, when, by whom and why."""

    run: Name
    how: Literal["abandoned", "retired"]
    at: datetime
    who: str
    why: str


def read_endings(settings: Settings) -> Mapping[Name, RunEnding]:
    """The end of every run that has ended."""
    rows = TABLE.read(settings)
    return {Name(row["run"]): RunEnding(**{**row, "run": Name(row["run"])}) for row in rows}


def add_ending(settings: Settings, lease: Lease, ending: RunEnding) -> None:
    """Writes the end of a run, under the lease "control", before its tables are deleted."""
    TABLE.append(settings, lease, as_row(ending))
