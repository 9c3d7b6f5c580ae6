"""Reads the state of the instance part by part: what `lk status` says, and what only the page shows."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from core.identifiers import Name
from flows import overview, routes
from flows.disk_bytes import disk_bytes
from flows.live_page.parts import Part
from flows.live_page.snapshot import DefinedView, GateState, LakeState, LiveRun, PartitionEnds, Snapshot, TrinoState
from flows.routes import RouteState
from infra.control import check_results, run_roles, runs
from infra.control.builds import build_times
from infra.control.manifest import last_epoch
from infra.control.publications import last_done, recent_changes
from infra.control.runs import Run
from infra.definitions import definition_files
from infra.kafka import kafka_admin
from infra.lake.lease_states import lease_states
from infra.local import local_stack
from infra.settings import Settings
from infra.trino import served_views
from serving import replace_views
from speed import replay_state
from speed.process import lifecycle
from speed.quarantine.newest_rules import NewestRule, newest_rules

MOST_RUNS = 12  # the newest that neither serve nor have ended; those that serve are all read
MOST_CHANGES = 100  # the newest publications
EXAMPLES = 3  # records of each rule
_SIZES_EVERY = 300.0  # seconds between two sums of the sizes of all files
_LISTED_EVERY = 3_600.0  # the same for an object store, where each thousand objects cost a request
_LIMIT = 8.0  # seconds, after which a part that has not answered is said to be away


class StateReader:
    """Reads every part of an instance."""

    def __init__(self, settings: Settings) -> None:
        self.processes = Part("processes", partial(local_stack.server_states, settings), every=2, limit=_LIMIT)
        limit = 2 * _LIMIT + settings.lease_seconds  # it may watch a silent process for half a lease
        self.status = Part("status", partial(overview.status, settings), every=4, limit=limit)
        self.log = Part("log", partial(_log, settings), every=2, limit=_LIMIT)
        self.trino = Part("trino", partial(_trino, settings), every=8, limit=_LIMIT)
        self.runs = Part("runs", partial(_runs, settings), every=2, limit=_LIMIT)
        self.lake = Part("lake", partial(_lake, settings), every=4, limit=_LIMIT)
        self.disks = Part("disks", partial(_disks, settings), every=4, limit=_LIMIT)
        self.quarantine = Part("quarantine", partial(_quarantine, settings), every=10, limit=2 * _LIMIT)
        self.gate = Part("gate", partial(_gate, settings), every=10, limit=_LIMIT)
        self.routes = Part("routes", partial(_routes, settings), every=10, limit=_LIMIT)
        self.views = Part("views", partial(_views, settings), every=10, limit=_LIMIT)
        every = _SIZES_EVERY if settings.lake_is_local else _LISTED_EVERY
        self.sizes = Part("sizes", partial(disk_bytes, settings), every=every, limit=every)

    @property
    def parts(self) -> tuple[Part[Any], ...]:
        """All parts, the cheap ones first."""
        state = (self.processes, self.log, self.runs, self.status, self.trino, self.lake, self.disks)
        return (*state, self.views, self.gate, self.routes, self.quarantine, self.sizes)

    def snapshot(self) -> Snapshot:
        """The last readings of all parts; it reads nothing."""
        return Snapshot(
            at=datetime.now(UTC),
            processes=self.processes.reading,
            status=self.status.reading,
            log=self.log.reading,
            trino=self.trino.reading,
            runs=self.runs.reading,
            lake=self.lake.reading,
            disks=self.disks.reading,
            quarantine=self.quarantine.reading,
            gate=self.gate.reading,
            routes=self.routes.reading,
            views=self.views.reading,
            sizes=self.sizes.reading,
        )


def read_snapshot(settings: Settings) -> Snapshot:
    """Reads every part once, and waits for each as long as its limit."""
    reader = StateReader(settings)
    threads = [thread for part in reader.parts if (thread := part.start_if_due(0))]
    deadline = time.monotonic() + 2 * _LIMIT
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return reader.snapshot()


def _log(settings: Settings) -> tuple[PartitionEnds, ...]:
    catalog, _ = definition_files.load_usable(settings)
    counts = kafka_admin.partition_counts(settings)
    topics = [topic for topic in catalog.topics if topic in counts]
    starts, ends = kafka_admin.start_offsets(settings, topics), kafka_admin.end_offsets(settings, topics)
    places = [(topic, partition) for topic in topics for partition in range(counts[topic])]
    first = {(topic, partition): start for topic, partition, start in starts.ends}
    last = {(topic, partition): end for topic, partition, end in ends.ends}
    return tuple(PartitionEnds(*place, first.get(place, 0), last.get(place, 0)) for place in places)


def _trino(settings: Settings) -> TrinoState:
    published = last_done(settings)
    catalog, _ = definition_files.load_usable(settings)
    pins = {view: pin for view, pin in published.pins.items() if view in catalog.views} if published else {}
    began = time.monotonic()
    served = served_views.read_served(settings, pins)
    seconds = time.monotonic() - began
    wrong = [
        view
        for view, pin in pins.items()
        if view not in served or served[view].broken or not replace_views.serves_pin(served[view], pin)
    ]
    return TrinoState(seconds, tuple(pins), tuple(wrong))


def _runs(settings: Settings) -> tuple[LiveRun, ...]:
    roles = run_roles.roles(settings)
    read = runs_to_read(roles)
    return tuple(_live_run(settings, run, roles[run.id]) for run in runs.read_runs(settings) if run.id in read)


def runs_to_read(roles: Mapping[Name, run_roles.Role]) -> frozenset[Name]:
    """Every run that serves, and the newest ``MOST_RUNS`` of those that neither serve nor have ended."""
    serving = [run for run, role in roles.items() if role == "serving"]
    others = [run for run, role in roles.items() if role in ("warm", "replay", "idle")]
    return frozenset(serving + others[-MOST_RUNS:])


def _live_run(settings: Settings, run: Run, role: run_roles.Role) -> LiveRun:
    progress = replay_state.progress(settings, run) if run.kind == "replay" else None
    state = progress.state if progress else lifecycle.status(settings, run.id)
    return LiveRun(run, role, state, last_epoch(settings, run.id), progress)


def _lake(settings: Settings) -> LakeState:
    changes = tuple(recent_changes(settings, MOST_CHANGES))
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
    build = check_results.last_judged_build(settings)
    return GateState(build, tuple(check_results.of_build(settings, build))) if build else GateState()


def _routes(settings: Settings) -> tuple[RouteState, ...]:
    catalog, _ = definition_files.load_usable(settings)
    return tuple(routes.status(settings, catalog)) if catalog.routes else ()


def _views(settings: Settings) -> tuple[DefinedView, ...]:
    catalog, _ = definition_files.load_usable(settings)
    return tuple(DefinedView(name, catalog.sources([name]), view.comment) for name, view in catalog.views.items())
