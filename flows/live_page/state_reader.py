"""Reads the state of the instance part by part: what `lk status` says, and what only the page shows."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from core.identifiers import Name
from flows import overview, routes
from flows.disk_bytes import disk_bytes
from flows.live_page.live_runs import live_runs
from flows.live_page.newest_changes import NewestChanges
from flows.live_page.parts import LONGEST_PAUSE, Part, read_due
from flows.live_page.published_views import PublishedViews
from flows.live_page.snapshot import DefinedView, GateState, LakeState, PartitionEnds, Snapshot, TrinoState
from flows.routes import RouteState
from infra.control import check_results
from infra.control.builds import build_times
from infra.definitions import definition_files
from infra.kafka import kafka_admin
from infra.lake.lease_states import lease_states
from infra.local import local_stack
from infra.quality import data_docs_paths
from infra.settings import Settings
from infra.trino import served_views
from speed.quarantine.newest_rules import NewestRule, newest_rules

MOST_CHANGES = 100  # the newest publications
EXAMPLES = 3  # records of each rule
_SIZES_EVERY = 300.0  # seconds between two sums of the sizes of all files
_LISTED_EVERY = 3_600.0  # the same for an object store, where each thousand objects cost a request
_LIMIT = 8.0  # seconds, after which a part that has not answered is said to be away
_PROCESSES_PAUSE = 10.0  # seconds, also while a server hangs: the page must tell soon that it answers again
T = TypeVar("T")


class StateReader:
    """Reads every part of an instance."""

    def __init__(self, settings: Settings) -> None:
        states = local_stack.server_states
        self.processes = _part(settings, "processes", states, every=2, longest_pause=_PROCESSES_PAUSE)
        self.dead = _part(settings, "dead", local_stack.dead_processes, every=2)
        limit = 2 * _LIMIT + settings.lease_seconds  # it may watch a silent process for half a lease
        # The first read of an instance of years adds up the rows of all its files.
        self.status = _part(settings, "status", overview.status, every=4, limit=limit, longest_pause=math.inf)
        self.log = _part(settings, "log", _log, every=2)
        self.trino = _part(settings, "trino", _trino, every=8)
        published = PublishedViews(settings)
        self.served = _part(settings, "served", lambda _: published.read(), every=8, limit=2 * _LIMIT)
        self.runs = _part(settings, "runs", live_runs, every=2)
        changes = NewestChanges(settings, MOST_CHANGES)
        self.lake = _part(settings, "lake", partial(_lake, changes), every=4)
        self.disks = _part(settings, "disks", _disks, every=4)
        limit = 2 * _LIMIT  # with few bad records the archive is searched to its end
        self.quarantine = _part(settings, "quarantine", _quarantine, every=10, limit=limit, longest_pause=math.inf)
        self.gate = _part(settings, "gate", _gate, every=10)
        self.routes = _part(settings, "routes", _routes, every=10)
        self.views = _part(settings, "views", _views, every=10)
        every = _SIZES_EVERY if settings.lake_is_local else _LISTED_EVERY
        self.sizes = _part(settings, "sizes", disk_bytes, every=every, limit=every, longest_pause=every)

    @property
    def parts(self) -> tuple[Part[Any], ...]:
        """All parts, the cheap ones first."""
        state = (self.dead, self.processes, self.log, self.runs, self.status, self.trino, self.lake, self.disks)
        return (*state, self.served, self.views, self.gate, self.routes, self.quarantine, self.sizes)

    def snapshot(self) -> Snapshot:
        """The last readings of all parts; it reads nothing."""
        return Snapshot(
            at=datetime.now(UTC),
            processes=self.processes.reading,
            dead=self.dead.reading,
            status=self.status.reading,
            log=self.log.reading,
            trino=self.trino.reading,
            served=self.served.reading,
            runs=self.runs.reading,
            lake=self.lake.reading,
            disks=self.disks.reading,
            quarantine=self.quarantine.reading,
            gate=self.gate.reading,
            routes=self.routes.reading,
            views=self.views.reading,
            sizes=self.sizes.reading,
            clock=time.monotonic(),
        )


def read_snapshot(settings: Settings) -> Snapshot:
    """Reads every part once, and waits for each as long as its limit; for the sizes no longer than for the others."""
    reader = StateReader(settings)
    read_due(reader.parts, 0, max(part.limit for part in reader.parts if part is not reader.sizes))
    return reader.snapshot()


def _part(
    settings: Settings,
    name: str,
    read: Callable[[Settings], T],
    *,
    every: float,
    limit: float = _LIMIT,
    longest_pause: float = LONGEST_PAUSE,
) -> Part[T]:
    return Part(name, partial(read, settings), every=every, limit=limit, longest_pause=longest_pause)


def _log(settings: Settings) -> tuple[PartitionEnds, ...]:
    defined = definition_files.usable_topics(settings)  # a lake that cannot be read must not look like Kafka's absence
    counts = kafka_admin.partition_counts(settings)
    topics = [topic for topic in defined if topic in counts]
    starts, ends = kafka_admin.start_offsets(settings, topics), kafka_admin.end_offsets(settings, topics)
    partitions = [(topic, partition) for topic in topics for partition in range(counts[topic])]
    first = {(topic, partition): start for topic, partition, start in starts.ends}
    last = {(topic, partition): end for topic, partition, end in ends.ends}
    return tuple(PartitionEnds(*key, first.get(key, 0), last.get(key, 0)) for key in partitions)


def _trino(settings: Settings) -> TrinoState:
    """Asks Trino alone: the part "served" compares its answer with the lake."""
    began = time.monotonic()
    served_views.read_served(settings, ())
    return TrinoState(time.monotonic() - began)


def _lake(newest: NewestChanges, settings: Settings) -> LakeState:
    changes = newest.read()
    served = next((change for change in reversed(changes) if change.state == "done"), None)
    builds = {pin.build for pin in served.pins.values() if pin.build} if served else set()
    return LakeState(
        changes=changes,
        build_began={build: began for build in sorted(builds) if (began := _began(settings, build))},
        leases=lease_states(settings),
    )


def _began(settings: Settings, build: Name) -> datetime | None:
    """When a build was begun; None if its rows were lost."""
    try:
        return build_times(settings, build)[0]
    except ValueError:
        return None


def _disks(settings: Settings) -> dict[str, tuple[int, int]]:
    folders = [settings.data, *([Path(settings.lake_root)] if settings.lake_is_local else [])]
    by_device = {folder.stat().st_dev: folder for folder in reversed(folders) if folder.exists()}
    usage = {str(folder): shutil.disk_usage(folder) for folder in by_device.values()}
    return {folder: (disk.free, disk.total) for folder, disk in sorted(usage.items())}


def _quarantine(settings: Settings) -> tuple[NewestRule, ...]:
    catalog, _ = definition_files.load_usable(settings)
    return newest_rules(settings, catalog, catalog.topics, EXAMPLES)


def _gate(settings: Settings) -> GateState:
    build = check_results.last_checked_build(settings)
    if build is None:
        return GateState()
    has_pages = data_docs_paths.index_of(settings, build).is_file()
    return GateState(build, tuple(check_results.of_build(settings, build)), has_pages)


def _routes(settings: Settings) -> tuple[RouteState, ...]:
    catalog, _ = definition_files.load_usable(settings)
    return tuple(routes.status(settings, catalog)) if catalog.routes else ()


def _views(settings: Settings) -> tuple[DefinedView, ...]:
    catalog, _ = definition_files.load_usable(settings)
    return tuple(DefinedView(name, catalog.sources([name]), view.comment) for name, view in catalog.views.items())
