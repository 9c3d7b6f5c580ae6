"""What an alarm asks of each served view: is the ledger off, how much is quarantined, how old is the newest epoch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.catalog import Catalog
from core.errors import LkError
from core.identifiers import Name
from infra.control.epochs import Epoch, read_epochs
from infra.kafka import kafka_admin
from infra.lake import leases
from infra.settings import Settings
from serving import reconcile, recover
from serving.reconcile import PartitionCounts, ServedState, ViewCounts

RECENT = timedelta(hours=1)


@dataclass(frozen=True)
class ViewAlarms:
    """One view. ``ledger_off`` is records and rows that do not reconcile; None when they could not be counted.

    ``quarantine_rate`` is of the records of its run's last hour. ``epoch_age_seconds`` is 0 while a process drives the
    run and nothing waits in the log; None of a view that no run serves.
    """

    view: Name
    ledger_off: int | None
    quarantine_rate: float
    epoch_age_seconds: float | None


def view_alarms(settings: Settings, catalog: Catalog) -> tuple[ViewAlarms, ...]:
    """Of every served view. What cannot be read is None, and an alarm that misses it."""
    last = recover.last_done(settings)
    pins = {view: pin for view, pin in last.pins.items() if view in catalog.views} if last else {}
    reaches = {view: reconcile.served_state(settings, view, pin) for view, pin in pins.items()}
    known = {view: reach for view, reach in reaches.items() if reach.pin.digest == catalog.digest(view)}
    lines = reconcile.partition_counts(catalog, reaches)
    rows: dict[Name, ViewCounts] = {}
    with contextlib.suppress(LkError):
        rows = {line.view: line for line in reconcile.view_counts(settings, catalog, known)}
    now = datetime.now(UTC)
    found = []
    for view, reach in reaches.items():
        mine = [line for line in lines if line.topic in catalog.view(view).sources]
        epochs = read_epochs(settings, reach.pin.run) if reach.pin.run else ()
        age = epoch_age(epochs, now, waiting=_waits(settings, catalog, view, reach))
        found.append(ViewAlarms(view, ledger_off(mine, rows.get(view)), quarantine_rate(epochs, now), age))
    return tuple(found)


def ledger_off(lines: Sequence[PartitionCounts], row: ViewCounts | None) -> int | None:
    """Records of the view's topics and rows of the view that do not reconcile; None without the view's row."""
    if row is None:
        return None
    records = sum(0 if line.ok else abs(line.offsets - line.decoded - line.quarantined) for line in lines)
    return records + abs(row.served - row.counted)


def quarantine_rate(epochs: Sequence[Epoch], now: datetime) -> float:
    """Share of the records of recent epochs that could not be decoded; 0 where there were none."""
    counted = [c for epoch in epochs if epoch.committed_at >= now - RECENT for c in epoch.counted.values()]
    bad = sum(one.quarantined for one in counted)
    total = bad + sum(one.decoded for one in counted)
    return bad / total if total else 0.0


def epoch_age(epochs: Sequence[Epoch], now: datetime, *, waiting: bool) -> float | None:
    """Seconds since the newest epoch was committed, while something waits for the next one."""
    if not epochs:
        return None
    return max(0.0, (now - epochs[-1].committed_at).total_seconds()) if waiting else 0.0


def _waits(settings: Settings, catalog: Catalog, view: Name, reach: ServedState) -> bool:
    """Records wait for the run, or nobody drives it, or Kafka does not say."""
    if reach.pin.run and leases.holder(settings, f"run_{reach.pin.run}") is None:
        return True
    try:
        sources = catalog.view(view).sources
        return kafka_admin.end_offsets(settings, list(sources)).size_since(reach.end.only(sources)) > 0
    except LkError:
        return True
