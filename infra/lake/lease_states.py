"""The state of every lease, for people and alarms: held, free, or left by a holder that has ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from core.identifiers import Name
from infra.lake import delta, lease_table, leases, table_paths
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings


@dataclass(frozen=True)
class LeaseState:
    """One lease. ``abandoned``: its holder did not release it and has ended, or sends no heartbeat any more."""

    name: Name
    state: Literal["held", "free", "abandoned"]
    holder: ProcessIdentity
    since: datetime


def lease_states(settings: Settings) -> tuple[LeaseState, ...]:
    """Every lease that was ever taken, by name; the table has one row for each."""
    path = table_paths.control(settings, lease_table.TABLE)
    if not delta.exists(path):
        return ()
    newest = {row["name"]: row for row in sorted(delta.read(path).to_pylist(), key=lambda row: row["generation"])}
    states = []
    for name, row in sorted(newest.items()):
        last = ProcessIdentity(row["host"], row["pid"], row["started"], row["who"])
        states.append(LeaseState(Name(name), _state(settings, name, released=row["released"]), last, row["since"]))
    return tuple(states)


def _state(settings: Settings, name: str, *, released: bool) -> Literal["held", "free", "abandoned"]:
    """Only a lease that was not released is asked for its holder, which opens the table once more."""
    if released:
        return "free"
    return "held" if leases.holder(settings, name) else "abandoned"
