"""Figures for alarms, of each served view: miscounted records, quarantine rate, age of the last epoch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.catalog import Catalog
from core.errors import LkError
from core.identifiers import Name
from infra.control.manifest import Epoch, read_epochs
from infra.kafka import kafka_admin
from infra.lake import leases
from infra.settings import Settings
from serving import ledger, recover
from serving.ledger import PartitionCounts, ServedState, ViewCounts

RECENT = timedelta(hours=1)


@dataclass(frozen=True)
class ViewAlarms:
    """One view. ``ledger_off`` is the number of miscounted records and rows; None if they could not be counted.

    ``quarantine_rate`` is a share of the records of the run's last hour. ``epoch_age_seconds`` is 0 while a process
    drives the run and it has read the whole log; None if no run serves the view.
    """

    view: Name
    ledger_off: int | None
    quarantine_rate: float
    epoch_age_seconds: float | None


def view_alarms(settings: Settings, catalog: Catalog) -> tuple[ViewAlarms, ...]:
    """The figures of every served view; None for what cannot be read, so that an alarm for missing data fires."""
    last = recover.last_done(settings)
    pins = {view: pin for view, pin in last.pins.items() if view in catalog.views} if last else {}
    states = {view: ledger.served_state(settings, view, pin) for view, pin in pins.items()}
    unchanged = {view: state for view, state in states.items() if state.pin.digest == catalog.digest(view)}
    partitions = ledger.partition_counts(catalog, states)
    rows: dict[Name, ViewCounts] = {}
    with contextlib.suppress(LkError):
        rows = {counts.view: counts for counts in ledger.view_counts(settings, catalog, unchanged)}
    now = datetime.now(UTC)
    alarms = []
    for view, state in states.items():
        of_view = [counts for counts in partitions if counts.topic in catalog.view(view).sources]
        epochs = read_epochs(settings, state.pin.run) if state.pin.run else ()
        age = epoch_age(epochs, now, waiting=_is_waiting(settings, catalog, view, state))
        alarms.append(ViewAlarms(view, ledger_off(of_view, rows.get(view)), quarantine_rate(epochs, now), age))
    return tuple(alarms)


def ledger_off(partitions: Sequence[PartitionCounts], row: ViewCounts | None) -> int | None:
    """The number of miscounted records of the view's topics and rows of the view; None without the view's row."""
    if row is None:
        return None
    records = sum(0 if p.ok else abs(p.offsets - p.decoded - p.quarantined) for p in partitions)
    return records + abs(row.served - row.counted)


def quarantine_rate(epochs: Sequence[Epoch], now: datetime) -> float:
    """Share of the records of the last hour's epochs that were quarantined; 0 without records."""
    recent = [counts for epoch in epochs if epoch.committed_at >= now - RECENT for counts in epoch.counted.values()]
    quarantined = sum(counts.quarantined for counts in recent)
    total = quarantined + sum(counts.decoded for counts in recent)
    return quarantined / total if total else 0.0


def epoch_age(epochs: Sequence[Epoch], now: datetime, *, waiting: bool) -> float | None:
    """Seconds since the last epoch was committed; 0 unless records are ``waiting``, None without epochs."""
    if not epochs:
        return None
    return max(0.0, (now - epochs[-1].committed_at).total_seconds()) if waiting else 0.0


def _is_waiting(settings: Settings, catalog: Catalog, view: Name, state: ServedState) -> bool:
    """Whether the log has records after the view's end; True if no process drives the run or Kafka is down."""
    if state.pin.run and leases.holder(settings, f"run_{state.pin.run}") is None:
        return True
    try:
        sources = catalog.view(view).sources
        return kafka_admin.end_offsets(settings, list(sources)).size_since(state.end.only(sources)) > 0
    except LkError:
        return True
