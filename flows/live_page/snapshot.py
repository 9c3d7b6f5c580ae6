"""The state of the instance at one moment, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from core.identifiers import Name
from flows.live_page.parts import Reading
from flows.overview import Overview, process_problems
from flows.routes import RouteState
from infra.control import run_roles
from infra.control.check_results import CheckResult
from infra.control.manifest import Epoch
from infra.control.publications import Change
from infra.control.runs import Run
from infra.lake.lease_states import LeaseState
from infra.local.local_stack import ServerState
from speed.process.lifecycle import RunState
from speed.quarantine.newest_rules import NewestRule
from speed.replay_state import ReplayProgress

_OLD = 60.0  # seconds: an older state, unless it takes long to read, does not say that all is well


@dataclass(frozen=True)
class PartitionEnds:
    """The offsets that Kafka holds of a partition, ``start`` inclusive and ``end`` exclusive."""

    topic: Name
    partition: int
    start: int
    end: int


@dataclass(frozen=True)
class LiveRun:
    """A run that has not ended: its role, its state, its last epoch, and its progress if it is a replay.

    ``is_read`` is False where its manifest cannot be read: then no last epoch does not mean that there was none.
    """

    run: Run
    role: run_roles.Role
    state: RunState
    last: Epoch | None
    progress: ReplayProgress | None
    is_read: bool = True


@dataclass(frozen=True)
class TrinoState:
    """What a query of Trino's catalog cost, in seconds."""

    seconds: float


@dataclass(frozen=True)
class ServedViews:
    """The views of the last publication, and which of them Trino does not serve as published."""

    views: tuple[Name, ...]
    missing: tuple[Name, ...]


@dataclass(frozen=True)
class LakeState:
    """The newest publications, when each served build was begun, and the leases."""

    changes: tuple[Change, ...]
    build_began: Mapping[Name, datetime]
    leases: tuple[LeaseState, ...]


@dataclass(frozen=True)
class GateState:
    """The build that was checked last, with all its results; None before the first one.

    ``has_pages``: its Data Docs are on this machine.
    """

    build: Name | None = None
    results: tuple[CheckResult, ...] = ()
    has_pages: bool = False


@dataclass(frozen=True)
class DefinedView:
    """A view as its file defines it now."""

    view: Name
    sources: tuple[Name, ...]
    comment: str


@dataclass(frozen=True)
class Snapshot:
    """All parts, each as it was read last. ``disks``: folder -> bytes free and bytes in all.

    ``clock`` is ``at`` by the clock of the readings, which nobody sets.
    """

    at: datetime
    processes: Reading[tuple[ServerState, ...]] = field(default_factory=Reading)
    dead: Reading[tuple[ServerState, ...]] = field(default_factory=Reading)
    status: Reading[Overview] = field(default_factory=Reading)
    log: Reading[tuple[PartitionEnds, ...]] = field(default_factory=Reading)
    trino: Reading[TrinoState] = field(default_factory=Reading)
    served: Reading[ServedViews] = field(default_factory=Reading)
    runs: Reading[tuple[LiveRun, ...]] = field(default_factory=Reading)
    lake: Reading[LakeState] = field(default_factory=Reading)
    disks: Reading[dict[str, tuple[int, int]]] = field(default_factory=Reading)
    quarantine: Reading[tuple[NewestRule, ...]] = field(default_factory=Reading)
    gate: Reading[GateState] = field(default_factory=Reading)
    routes: Reading[tuple[RouteState, ...]] = field(default_factory=Reading)
    views: Reading[tuple[DefinedView, ...]] = field(default_factory=Reading)
    sizes: Reading[dict[str, int]] = field(default_factory=Reading)
    clock: float = 0.0

    @property
    def readings(self) -> dict[str, Reading[Any]]:
        """Every part by its name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name not in ("at", "clock")}

    @property
    def process_states(self) -> tuple[ServerState, ...]:
        """The last state of every process. That one died is read apart: whether the others answer may take long."""
        dead = {process.name: process for process in self.dead.value or ()}
        last = {process.name: process for process in self.processes.value or ()}
        return tuple((last | dead).values())

    @property
    def sources(self) -> dict[Name, tuple[Name, ...]]:
        """View -> the topics that it reads."""
        return {view.view: view.sources for view in self.views.value or ()}

    @property
    def unhealthy(self) -> tuple[str, ...]:
        """The lines of `lk status`; those about processes are as new as these. Empty if all is well."""
        status = self.status.value
        if status is None:
            return (f"the state is unknown: {self.status.problem}",)
        old = process_problems(status.processes)
        new = process_problems(self.process_states)
        if self.processes.value is None:
            new = tuple(dict.fromkeys((*new, *old)))
        lines = (*new, *(line for line in status.unhealthy if line not in old))
        age = self.clock - self.status.clock
        is_old = age > _OLD + 2 * self.status.seconds + self.status.pause  # the next read takes as long again
        late = (f"the state is {age:.0f} s old: {self.status.problem or 'not read again'}",) if is_old else ()
        return (*late, *dict.fromkeys(lines))
