"""Record accounting: decoded + quarantined = offsets in each partition, served rows = counted rows in each view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.catalog import Catalog
from core.compute.merge_sql import no_row_sql
from core.cut import Cut
from core.identifiers import Name
from core.positions import LogPartition
from core.record_counts import RecordCounts, Totals, account_for
from core.view import ROWS, Rollup
from infra.control.builds import Built, read_builds
from infra.control.manifest import Epoch, epoch_numbered
from infra.control.pins import Pin
from infra.lake import data_files, row_sums, table_paths
from infra.lake.row_sums import Epochs
from infra.settings import Settings
from infra.trino import metastore
from serving import view_sql
from serving.served_ends import last_served_epochs, served_end


@dataclass(frozen=True)
class PartitionCounts:
    """One partition: the served offsets, and the records that batch counted up to the cut and speed after it."""

    topic: Name
    partition: int
    offsets: int
    decoded: int
    quarantined: int
    gaps: bool = False

    @property
    def ok(self) -> bool:
        """Whether each offset was decoded or quarantined once; a compacted topic has offsets without a record."""
        return account_for(self.decoded + self.quarantined, self.offsets, gaps=self.gaps)


@dataclass(frozen=True)
class ViewCounts:
    """One view: the rows (of a keyed view, the events) that it serves, and those that batch and speed counted."""

    view: Name
    served: int
    counted: int

    @property
    def ok(self) -> bool:
        """Whether no row is missing or repeated."""
        return self.served == self.counted


@dataclass(frozen=True)
class ServedState:
    """A served view at one moment: the pin, the build, the run's last epoch, the counts of the epochs after the pin."""

    pin: Pin
    built: Built | None
    last: Epoch | None
    since: Totals

    @property
    def served_end(self) -> Cut:
        """The end of what is served."""
        return served_end(self.pin, self.last)

    @property
    def last_epoch(self) -> int:
        """The number of the last served epoch."""
        return max(self.last.number, self.pin.epoch) if self.last else self.pin.epoch


def served_states(settings: Settings, pins: Mapping[Name, Pin]) -> dict[Name, ServedState]:
    """The state of every view. Each run is read once, so all counts of a run are of the same moment."""
    builds = {pin.build for pin in pins.values() if pin.build}
    built = {(row.view, row.build): row for row in read_builds(settings, builds)}
    last = last_served_epochs(settings, pins)
    pinned = {(pin.run, pin.epoch) for pin in pins.values() if pin.run}
    totals = {(run, epoch): _total(epoch_numbered(settings, run, epoch)) for run, epoch in pinned}
    states = {}
    for view, pin in pins.items():
        build = built.get((view, pin.build)) if pin.build else None
        epoch = last[pin.run] if pin.run else None
        is_newer = epoch and pin.run and epoch.number > pin.epoch
        since = epoch.total - totals[pin.run, pin.epoch] if epoch and pin.run and is_newer else Totals()
        states[view] = ServedState(pin, build, epoch, since)
    return states


def unchanged_states(catalog: Catalog, states: Mapping[Name, ServedState]) -> dict[Name, ServedState]:
    """The states of the views whose definition is the one that they are served with."""
    return {view: state for view, state in states.items() if state.pin.digest == catalog.digest(view)}


def _total(epoch: Epoch | None) -> Totals:
    """The total up to a pinned epoch; nothing before the first one."""
    return epoch.total if epoch else Totals()


def counts_by_partition(catalog: Catalog, states: Mapping[Name, ServedState]) -> tuple[PartitionCounts, ...]:
    """Every partition once, from the view with the highest end."""
    partitions: dict[tuple[Name, int], PartitionCounts] = {}
    for view, state in sorted(states.items(), key=lambda item: item[1].served_end.size):
        counted = _counted(state)
        for topic, partition, end in state.served_end.only(catalog.view(view).sources).ends:
            counts = counted.get(str(LogPartition(topic, partition)), RecordCounts())
            gaps = catalog.topic(topic).compacted
            partitions[topic, partition] = PartitionCounts(
                topic, partition, end, counts.decoded, counts.quarantined, gaps
            )
    return tuple(partitions[key] for key in sorted(partitions))


def view_counts(settings: Settings, catalog: Catalog, states: Mapping[Name, ServedState]) -> tuple[ViewCounts, ...]:
    """Counts the rows of all views in the files that Trino reads, up to the last epoch of each state.

    Raises an error when Trino cannot read one of the tables.
    """
    if not states:
        return ()
    parts = {view: view_sql.view_parts(catalog.view(view), state.pin) for view, state in states.items()}
    metastore.query(settings, no_row_sql(parts))
    kept, sums, served = row_sums.read_kept(settings), dict[str, dict[str, int]](), {}
    for view, state in states.items():
        if isinstance(catalog.view(view), Rollup):
            counted = {
                path: row_sums.sums_of_files(path, ROWS, epochs, kept.get(path, {}))
                for path, epochs in _served_parts(settings, view, state)
            }
            served[view] = sum(rows for rows, _ in counted.values())
            sums |= {path: of_files for path, (_, of_files) in counted.items()}
        else:
            served[view] = _used_events(settings, view, state)
    if sums != kept:
        row_sums.keep(settings, sums)
    return tuple(ViewCounts(view, served[view], _expected_rows(view, state)) for view, state in states.items())


def _served_parts(settings: Settings, view: Name, state: ServedState) -> Iterator[tuple[str, Epochs | None]]:
    """The tables whose rows are served, with their epochs; all rows of a build are."""
    pin = state.pin
    if pin.build:
        yield table_paths.batch(settings, view, pin.build), None
    if pin.run:
        yield table_paths.speed(settings, pin.run, view), Epochs(pin.epoch, state.last_epoch)


def _used_events(settings: Settings, view: Name, state: ServedState) -> int:
    """The events from which a keyed view was computed: those of the build, and those that the run keeps."""
    batch = (state.built.counts.used or 0) if state.built else 0
    if state.pin.run is None:
        return int(batch)
    path = table_paths.events(settings, state.pin.run, view)
    return int(batch) + data_files.count_between(path, "epoch", state.pin.epoch + 1, state.last_epoch)


def _expected_rows(view: Name, state: ServedState) -> int:
    batch = state.built.counts.expected if state.built else 0
    return int(batch) + state.since.rows.get(view, 0)


def _counted(state: ServedState) -> Mapping[str, RecordCounts]:
    """``topic/partition`` -> records counted by batch up to the cut and by speed after it."""
    batch = Totals(state.built.counts.partitions) if state.built else Totals()
    return (batch + state.since).partitions
