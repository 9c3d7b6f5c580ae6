"""Lambda and Kappa measured in the same instance, by the same code, with the same flow of events."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil

from core.catalog import Catalog
from flows.measure import live_system
from flows.measure.freshness import Freshness
from flows.measure.live_system import RATE, LiveInstance
from infra.control.manifest import last_epoch
from infra.control.publications import Publication
from infra.control.run_roles import pinned_runs
from infra.lake import files, table_paths
from infra.local import local_processes, resource_usage, trino_server
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings
from infra.settings.local_brokers import SINGLE
from speed.process import background

BATCH_STEPS = ("claim", "land", "build", "gate", "publish")  # what a scheduler runs where a build is served
_SERVERS = (SINGLE, trino_server.NAME)  # without a scheduler: any can run the batch steps, and Kappa needs none
_SECONDS, _ANSWERS = 8.0, 9


@dataclass(frozen=True)
class RebuildTimes:
    """A full computation from the log: its seconds, its records, and the CPU and disk that it used."""

    seconds: float
    records: int
    usage: ResourceUsage


@dataclass(frozen=True)
class ModeFigures:
    """One mode, measured while it served.

    ``live`` is what the speed process used for ``live_records`` records, ``uptime`` the seconds that it had run before.
    ``processes`` must run, ``jobs`` must be scheduled; an answer is merged from ``tables``.
    """

    name: str
    freshness: Freshness
    query: float
    rebuilt: RebuildTimes
    uptime: float
    live: ResourceUsage
    live_records: int
    disk: int
    processes: tuple[str, ...]
    jobs: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class ModeRow:
    """One line of the comparison, and how it was measured."""

    what: str
    first: str
    second: str
    how: str


_Line = tuple[str, Callable[[ModeFigures], str], str]


def measure_mode(live: LiveInstance, served: Publication, rebuilt: RebuildTimes) -> ModeFigures:
    """Measures what is served now, as `lk bench` does, while events flow."""
    settings = live.settings
    uptime, usage_before, records_before = _uptime(live), _usage(live), _committed_records(live)
    (freshness,) = live_system.sample(live, _SECONDS, 1)
    usage, records = _usage(live).since(usage_before), _committed_records(live) - records_before
    (query_time,) = live_system.queries(live, 1, _ANSWERS)
    pins = served.pins.values()
    tables = {"batch": any(pin.build for pin in pins), "speed": any(pin.run for pin in pins)}
    return ModeFigures(
        name=", ".join(sorted({pin.mode for pin in pins})),
        freshness=freshness,
        query=query_time.median,
        rebuilt=rebuilt,
        uptime=uptime,
        live=usage,
        live_records=records,
        disk=_disk(settings, live.catalog, served),
        processes=(*_SERVERS, *(background.name(run) for run in sorted(pinned_runs(served)))),
        jobs=BATCH_STEPS if tables["batch"] else (),
        tables=tuple(name for name, is_read in tables.items() if is_read),
    )


def rows(first: ModeFigures, second: ModeFigures) -> tuple[ModeRow, ...]:
    """The two modes side by side, numbers as text."""
    lines = (*_time_rows(first, second), *_cost_rows(), *_part_rows(first, second))
    return tuple(ModeRow(what, text(first), text(second), how) for what, text, how in lines)


_FLOW = f"{_SECONDS:.0f} s of {RATE:,.0f} trades a second"


def _time_rows(first: ModeFigures, second: ModeFigures) -> Sequence[_Line]:
    batch, replay = first.rebuilt.records, second.rebuilt.records
    return (
        ("freshness, p50", lambda m: f"{m.freshness.p50:.2f} s", f"from sending until a query counts it; {_FLOW}"),
        ("freshness, p99", lambda m: f"{m.freshness.p99:.2f} s", "the same; both runs read the log meanwhile"),
        ("speed process running for", lambda m: f"{m.uptime:.0f} s", "when the measurement of freshness began"),
        ("query time, p50", lambda m: f"{m.query:.2f} s", f"windows of one ticker in 5 minutes, {_ANSWERS} queries"),
        (
            "rebuild: time",
            lambda m: f"{m.rebuilt.seconds:.0f} s",
            f"with process start, while trades flow: `lk batch` of {batch:,} records; a replay of {replay:,}",
        ),
    )


def _cost_rows() -> Sequence[_Line]:
    return (
        (
            "rebuild: CPU s per million",
            lambda m: _cpu(m.rebuilt.usage, m.rebuilt.records),
            "user and system time of the process and its children, per million records",
        ),
        (
            "rebuild: MB per million",
            lambda m: _mb(m.rebuilt.usage, m.rebuilt.records),
            "written to disk by the same processes, per million records",
        ),
        ("live: CPU s per million", lambda m: _cpu(m.live, m.live_records), f"the speed process, {_FLOW}"),
        (
            "live: MB per million",
            lambda m: _mb(m.live, m.live_records),
            "written to disk by the speed process, without batches",
        ),
        (
            "disk used",
            lambda m: f"{m.disk / 10**6:.0f} MB",
            "lambda: archive, build and run; kappa: its run; without the log, which both need",
        ),
    )


def _part_rows(first: ModeFigures, second: ModeFigures) -> Sequence[_Line]:
    def of_each(names: Callable[[ModeFigures], Sequence[str]]) -> str:
        return "; ".join(f"{mode.name}: {', '.join(names(mode)) or 'none'}" for mode in (first, second))

    return (
        ("processes that must run", lambda m: f"{len(m.processes)}", of_each(lambda m: m.processes)),
        ("jobs to schedule", lambda m: f"{len(m.jobs)}", of_each(lambda m: m.jobs)),
        ("tables read by a query", lambda m: f"{len(m.tables)}", of_each(lambda m: m.tables)),
    )


def _cpu(usage: ResourceUsage, records: int) -> str:
    return f"{usage.cpu * 10**6 / records:,.0f}" if records else "–"


def _mb(usage: ResourceUsage, records: int) -> str:
    """A dash where the OS does not count what a process writes."""
    return f"{usage.written / records:,.0f}" if records and usage.written else "–"


def _usage(live: LiveInstance) -> ResourceUsage:
    """What the speed process has used so far."""
    process = local_processes.running_process(live.settings, background.name(live.run))
    return resource_usage.usage_of(process.pid) if process else ResourceUsage()


def _uptime(live: LiveInstance) -> float:
    """Seconds since the speed process started."""
    process = local_processes.running_process(live.settings, background.name(live.run))
    return time.time() - psutil.Process(process.pid).create_time() if process else 0.0


def _committed_records(live: LiveInstance) -> int:
    epoch = last_epoch(live.settings, live.run)
    return epoch.end.size if epoch else 0


def _disk(settings: Settings, catalog: Catalog, served: Publication) -> int:
    """Bytes of all tables that a publication needs; a build needs the archive from which it was built."""
    builds = {table_paths.batch(settings, view, pin.build) for view, pin in served.pins.items() if pin.build}
    archives = {table_paths.archive(settings, topic, catalog.decoder(topic)) for topic in catalog.topics if builds}
    folders = {table_paths.run(settings, run) for run in pinned_runs(served)}
    return sum(files.size(path) for path in builds | archives | folders)
