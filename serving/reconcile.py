"""The ledger: every record of the log counted once by batch or speed, and every view row served once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from core.catalog import Catalog
from core.compute.merge_sql import ledger_sql
from core.cut import Cut
from core.identifiers import Name
from core.record_counts import RecordCounts
from core.view import Rollup
from infra.control.builds import Built, read_builds
from infra.control.epochs import Epoch, read_epochs
from infra.control.publications import Pin
from infra.lake import delta, table_paths
from infra.settings import Settings
from infra.trino import metastore
from serving import view_sql


@dataclass(frozen=True)
class PartitionCounts:
    """One partition: offsets served, and records counted by batch up to the cut and by speed after it."""

    topic: Name
    partition: int
    offsets: int
    decoded: int
    quarantined: int
    gaps: bool = False

    @property
    def ok(self) -> bool:
        """Every offset is one record, decoded or quarantined; of a compacted topic some have none."""
        counted = self.decoded + self.quarantined
        return counted <= self.offsets if self.gaps else counted == self.offsets


@dataclass(frozen=True)
class ViewCounts:
    """One view: rows that its served parts are made of (events, of a keyed view), and rows counted event by event."""

    view: Name
    served: int
    counted: int

    @property
    def ok(self) -> bool:
        """No row is missing and none is there twice."""
        return self.served == self.counted


@dataclass(frozen=True)
class ServedState:
    """Up to where a pin's view is complete at one moment, and what was counted on the way."""

    pin: Pin
    end: Cut
    newest: int
    built: Built | None
    epochs: tuple[Epoch, ...]


def served_state(settings: Settings, view: Name, pin: Pin) -> ServedState:
    """Reads the manifest once, so that all that follows is about the same moment."""
    epochs = tuple(e for e in read_epochs(settings, pin.run) if e.number > pin.epoch) if pin.run else ()
    built = next((b for b in read_builds(settings) if (b.build, b.view) == (pin.build, view)), None)
    end = epochs[-1].end if epochs else pin.cut
    return ServedState(pin, end, epochs[-1].number if epochs else pin.epoch, built, epochs)


def partition_counts(catalog: Catalog, reaches: Mapping[Name, ServedState]) -> tuple[PartitionCounts, ...]:
    """Every partition once, from the view that reaches furthest in its topic."""
    found: dict[tuple[Name, int], PartitionCounts] = {}
    for view, one in sorted(reaches.items(), key=lambda item: item[1].end.size):
        counted = _counted(one)
        for topic, partition, end in one.end.only(catalog.view(view).sources).ends:
            counts = counted.get(f"{topic}/{partition}", RecordCounts())
            gaps = catalog.topic(topic).compacted
            found[topic, partition] = PartitionCounts(topic, partition, end, counts.decoded, counts.quarantined, gaps)
    return tuple(found[key] for key in sorted(found))


def view_counts(settings: Settings, catalog: Catalog, reaches: Mapping[Name, ServedState]) -> tuple[ViewCounts, ...]:
    """Asks Trino once for the rows of all parts, up to the newest epoch that each view's manifest has."""
    if not reaches:
        return ()
    parts = {
        view: view_sql.view_parts(definition, one.pin, newest=one.newest)
        for view, one in reaches.items()
        if isinstance(definition := catalog.view(view), Rollup)
    }
    rows = metastore.query(settings, ledger_sql(parts)).rows if parts else ()
    served = {str(view): int(count) for view, count in rows}
    served |= {str(view): _used(settings, view, one) for view, one in reaches.items() if view not in parts}
    return tuple(ViewCounts(view, served[view], _expected(view, one)) for view, one in reaches.items())


def _used(settings: Settings, view: Name, one: ServedState) -> int:
    """The events that a keyed view was computed from: those of the build, and those that the run keeps."""
    batch = (one.built.counts.used or 0) if one.built else 0
    if one.pin.run is None:
        return int(batch)
    since = (pc.field("epoch") > one.pin.epoch) & (pc.field("epoch") <= one.newest)
    return int(batch) + int(delta.read(table_paths.events(settings, one.pin.run, view), ["epoch"], since).num_rows)


def _expected(view: Name, one: ServedState) -> int:
    batch = one.built.counts.expected if one.built else 0
    return int(batch) + sum(epoch.rows.get(view, 0) for epoch in one.epochs)


def _counted(one: ServedState) -> dict[str, RecordCounts]:
    """By ``topic/partition``: by batch up to the cut, by speed after it."""
    total = dict(one.built.counts.partitions) if one.built else {}
    for epoch in one.epochs:
        for where, counts in epoch.counted.items():
            total[where] = total.get(where, RecordCounts()) + counts
    return total
