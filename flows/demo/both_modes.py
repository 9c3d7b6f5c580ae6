"""Lambda and Kappa measured in the same instance, by the same code, with the same flow of events."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from core.catalog import Catalog
from flows.demo.full_computation import FullComputation
from flows.measure import live_system, load
from flows.measure.freshness import Freshness, percentile
from flows.measure.live_system import RATE, SEEDS, LiveInstance
from infra.control.manifest import committed_size
from infra.control.publications import Publication
from infra.control.run_roles import pinned_runs
from infra.lake import files, table_paths
from infra.local import local_processes, trino_server
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings
from infra.settings.local_brokers import SINGLE
from speed.process import background

BATCH_STEPS = ("claim", "land", "build", "gate", "publish")  # what a scheduler runs where a build is served
WARM_AFTER = 60.0  # seconds that a speed process has run before what it does live is compared
_SERVERS = (SINGLE, trino_server.NAME)  # without a scheduler: any can run the batch steps, and Kappa needs none
SECONDS = 8.0  # of the sample of freshness
_QUERIES = 9


@dataclass(frozen=True)
class ServedParts:
    """``processes`` must run, ``jobs`` must be scheduled; an answer is merged from ``tables``."""

    processes: tuple[str, ...]
    jobs: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class ModeFigures:
    """One mode, measured while it served.

    ``latency`` is the median of ``queries`` queries in seconds. ``live`` is what the speed process used for
    ``live_records`` records, ``uptime`` the seconds that it had run before. ``disk`` is bytes with ``log_records``
    records in the log. ``sent`` is how many records the measurement itself sent. ``processes`` must run, ``jobs`` must
    be scheduled; an answer is merged from ``tables``.
    """

    name: str
    freshness: Freshness
    latency: float
    queries: int
    rebuilt: FullComputation
    uptime: float
    live: ResourceUsage
    live_records: int
    disk: int
    log_records: int
    sent: int
    processes: tuple[str, ...]
    jobs: tuple[str, ...]
    tables: tuple[str, ...]

    @property
    def is_warm(self) -> bool:
        """Whether the speed process had run long enough before."""
        return self.uptime >= WARM_AFTER


def measure_mode(live: LiveInstance, served: Publication, rebuilt: FullComputation) -> ModeFigures:
    """Measures what is served now, as `lk bench` does, while events flow."""
    settings = live.settings
    uptime, usage_before, size_before = _uptime(live), live_system.speed_usage(live), committed_size(settings, live.run)
    (freshness,) = live_system.sample(live, SECONDS, 1)
    usage, records = live_system.speed_usage(live).since(usage_before), committed_size(settings, live.run) - size_before
    with load.flowing(settings, live.catalog, next(SEEDS), RATE) as flow:
        sql = live_system.fixed_range(settings)
        latencies = sorted(live_system.query_seconds(settings, sql) for _ in range(_QUERIES))
    parts = parts_of(served)
    return ModeFigures(
        name=", ".join(sorted({pin.mode for pin in served.pins.values()})),
        freshness=freshness,
        latency=percentile(latencies, 50),
        queries=len(latencies),
        rebuilt=rebuilt,
        uptime=uptime,
        live=usage,
        live_records=records,
        disk=_disk(settings, live.catalog, served),
        log_records=committed_size(settings, live.run),
        sent=freshness.samples + flow.sent,
        processes=parts.processes,
        jobs=parts.jobs,
        tables=parts.tables,
    )


def parts_of(served: Publication) -> ServedParts:
    """What must run and what is read for a publication."""
    pins = served.pins.values()
    tables = {"batch": any(pin.build for pin in pins), "speed": any(pin.run for pin in pins)}
    return ServedParts(
        processes=(*_SERVERS, *(background.name(run) for run in sorted(pinned_runs(served)))),
        jobs=BATCH_STEPS if tables["batch"] else (),
        tables=tuple(name for name, is_read in tables.items() if is_read),
    )


def _uptime(live: LiveInstance) -> float:
    """Seconds since the speed process started."""
    process = local_processes.running_process(live.settings, background.name(live.run))
    return time.time() - psutil.Process(process.pid).create_time() if process else 0.0


def _disk(settings: Settings, catalog: Catalog, served: Publication) -> int:
    """Bytes of all tables that a publication needs; a build needs the archive from which it was built."""
    builds = {table_paths.batch(settings, view, pin.build) for view, pin in served.pins.items() if pin.build}
    archives = {table_paths.archive(settings, topic, catalog.decoder(topic)) for topic in catalog.topics if builds}
    folders = {table_paths.run(settings, run) for run in pinned_runs(served)}
    return sum(files.size(path) for path in builds | archives | folders)
