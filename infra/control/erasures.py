"""Table control.erasures: the pseudonyms of erased persons. It names nobody: the key store knew who they were."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from infra.control.store import TEXT, TIME, ControlTable, as_row
from infra.lake.leases import Lease
from infra.settings import Settings

TABLE = ControlTable(
    "erasures", pa.schema({"pseudonym": TEXT, "publication": pa.int64(), "why": TEXT, "who": TEXT, "at": TIME})
)
LEASE = "erasures"


@dataclass(frozen=True)
class Erasure:
    """One erased person. ``publication`` was the last one then, and may count the person. ``who`` ran the verb."""

    pseudonym: str
    publication: int
    why: str
    who: str
    at: datetime


def last_counting(settings: Settings) -> int:
    """The last publication that may count an erased person; 0 if nobody was erased."""
    return max((row["publication"] for row in TABLE.read(settings, ["publication"])), default=0)


def erased_pseudonyms(settings: Settings) -> frozenset[str]:
    """The pseudonyms of all erased persons."""
    return frozenset(row["pseudonym"] for row in TABLE.read(settings, ["pseudonym"]))


def add_erasures(settings: Settings, lease: Lease, *erasures: Erasure) -> None:
    """Writes erasures, under the lease "erasures"."""
    TABLE.append(settings, lease, *(as_row(erasure) for erasure in erasures))
