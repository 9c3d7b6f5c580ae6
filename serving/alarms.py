"""Figures for alarms, of each served view: miscounted records, quarantine rate, age of the last epoch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.catalog import Catalog
from core.errors import LkError
from core.identifiers import Name
from core.record_counts import RecordCounts, Totals
from infra.control.epoch_search import counted_in_the_hour
from infra.control.manifest import Epoch
from infra.control.publications import last_done
from infra.kafka import kafka_admin
from infra.lake import leases
from infra.settings import Settings
from serving import ledger
from serving.ledger import PartitionCounts, ServedState, ViewCounts
from serving.publish import declared_pins


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
    states = ledger.served_states(settings, declared_pins(last_done(settings), catalog))
    unchanged = ledger.unchanged_states(catalog, states)
    partitions = ledger.counts_by_partition(catalog, states)
    rows: dict[Name, ViewCounts] = {}
    with contextlib.suppress(LkError):
        rows = {counts.view: counts for counts in ledger.view_counts(settings, catalog, unchanged)}
    now = datetime.now(UTC)
    runs = {state.pin.run: state.last for state in states.values() if state.pin.run}
    recent = {run: counted_in_the_hour(settings, run, last, now) for run, last in runs.items()}
    alarms = []
    for view, state in states.items():
        of_view = [counts for counts in partitions if counts.topic in catalog.view(view).sources]
        rate = quarantine_rate(recent[state.pin.run]) if state.pin.run else 0.0
        age = epoch_age(state.last, now, waiting=_is_waiting(settings, catalog, view, state))
        alarms.append(ViewAlarms(view, ledger_off(of_view, rows.get(view)), rate, age))
    return tuple(alarms)


def ledger_off(partitions: Sequence[PartitionCounts], row: ViewCounts | None) -> int | None:
    """The number of miscounted records of the view's topics and rows of the view; None without the view's row."""
    if row is None:
        return None
    records = sum(0 if p.ok else abs(p.offsets - p.decoded - p.quarantined) for p in partitions)
    return records + abs(row.served - row.counted)


def quarantine_rate(recent: Totals) -> float:
    """Share of the counted records that were quarantined; 0 without records."""
    counts = sum(recent.partitions.values(), RecordCounts())
    total = counts.quarantined + counts.decoded
    return counts.quarantined / total if total else 0.0


def epoch_age(last: Epoch | None, now: datetime, *, waiting: bool) -> float | None:
    """Seconds since the last epoch was committed; 0 unless records are ``waiting``, None without epochs."""
    if last is None:
        return None
    return max(0.0, (now - last.committed_at).total_seconds()) if waiting else 0.0


def _is_waiting(settings: Settings, catalog: Catalog, view: Name, state: ServedState) -> bool:
    """Whether the log has records after the view's end; True if no process drives the run or Kafka is down."""
    if state.pin.run and leases.holder(settings, f"run_{state.pin.run}") is None:
        return True
    try:
        sources = catalog.view(view).sources
        return kafka_admin.end_offsets(settings, list(sources)).size_since(state.served_end.only(sources)) > 0
    except LkError:
        return True
