"""Table control.redrives: which repaired records were sent again, and where to look for them after a crash."""

from __future__ import annotations

import json
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

TABLE = ControlTable(
    "redrives",
    pa.schema({"seq": pa.int64(), "state": TEXT, "ends": TEXT, "origins": TEXT, "at": TIME, "who": TEXT}),
)


@dataclass(frozen=True)
class Redrive:
    """Records sent again: ``origins`` are topic/partition/offset -> fingerprint of the copy.

    ``ends`` are the end offsets of their topics before. What an ``intent`` has sent is in the log from there on.
    """

    seq: int
    state: Literal["intent", "done"]
    ends: Cut
    origins: Mapping[str, str]
    at: datetime
    who: str

    @property
    def topics(self) -> tuple[Name, ...]:
        """The topics of the records, by name."""
        return tuple(sorted({topic for topic, _, _ in self.ends.ends}))


def read_redrives(settings: Settings) -> list[Redrive]:
    """Every redrive in its newest state, oldest first."""
    rows = sorted(TABLE.read(settings), key=lambda row: (row["seq"], row["state"] == "intent"), reverse=True)
    newest = {row["seq"]: _redrive(row) for row in rows}
    return [newest[seq] for seq in sorted(newest)]


def add_redrive(settings: Settings, lease: Lease, redrive: Redrive) -> None:
    """Writes a redrive in a new state, under the lease "redrives"."""
    TABLE.append(settings, lease, as_row(redrive, origins=json.dumps(dict(redrive.origins))))


def sent_origins(settings: Settings) -> dict[str, str]:
    """The origins of all copies that are in the log for certain, with their fingerprints."""
    completed = (redrive for redrive in read_redrives(settings) if redrive.state == "done")
    return {origin: copy for redrive in completed for origin, copy in redrive.origins.items()}


def _redrive(row: Mapping[str, Any]) -> Redrive:
    return Redrive(**{**row, "ends": Cut.parse(row["ends"]), "origins": json.loads(row["origins"])})
