"""Heartbeats of the holder of a lease: the version of a ``txn`` action is the time of the last one."""

from __future__ import annotations

from deltalake import DeltaTable

from core.identifiers import Name
from infra import clock
from infra.lake import delta
from infra.retry import wait_until


def is_recent(table: DeltaTable, _path: str, name: Name, lease_seconds: float) -> bool:
    """Whether the last heartbeat is less than ``lease_seconds`` away, in the past or by a clock that is ahead."""
    return abs(clock.now_ms() - last(table, name)) <= lease_seconds * 1000


def is_beating(table: DeltaTable, path: str, name: Name, lease_seconds: float) -> bool:
    """Whether the last heartbeat is recent, or another comes: two clocks may differ by more than a lease."""
    if is_recent(table, path, name, lease_seconds):
        return True
    beat, patience = last(table, name), lease_seconds / 2
    try:
        return wait_until(
            lambda: last(delta.table(path), name) != beat, patience, every=patience / 10, error=TimeoutError
        )
    except TimeoutError:
        return False


def last(table: DeltaTable, name: Name) -> int:
    """When the last heartbeat was: milliseconds by the clock of the holder."""
    return table.transaction_version(app(name)) or 0


def app(name: Name) -> str:
    """The app id of the ``txn`` action."""
    return f"beat/{name}"
