"""Lambda and Kappa as they were measured in the same run, by the same code, with the same flow of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.catalog import Catalog
from flows.measure import live_system as live
from flows.measure.freshness import Freshness
from flows.measure.live_system import RATE, Live
from infra.control.epochs import last_epoch
from infra.control.publications import Publication
from infra.control.run_roles import pinned_runs
from infra.lake import files, table_paths
from infra.local import local_processes, resource_usage, trino_server
from infra.local.resource_usage import ResourceUsage
from infra.settings import Settings
from infra.settings.local_brokers import SINGLE
from speed.process.background import name as process_of

BATCH_STEPS = ("claim", "land", "build", "gate", "publish")  # what a scheduler must call where a build is served
_SERVERS = (SINGLE, trino_server.NAME)  # a scheduler is not among them: any will do, and Kappa needs none
_SECONDS, _ANSWERS = 8.0, 9


@dataclass(frozen=True)
class RebuildTimes:
    """Everything computed again from the log: in how many seconds, of how many records, and what that used."""

    seconds: float
    records: int
    usage: ResourceUsage


@dataclass(frozen=True)
class ModeFigures:
    """One mode, measured while it served. ``live`` is what the process of its run used for ``live_records`` records.

    ``processes`` must run, ``steps`` must be scheduled; an answer is merged from ``tables``.
    """

    name: str
    freshness: Freshness
    query: float
    rebuilt: RebuildTimes
    live: ResourceUsage
    live_records: int
    disk: int
    processes: tuple[str, ...]
    steps: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class ModeRow:
    """One line of the comparison, with how both sides were measured."""

    what: str
    first: str
    second: str
    how: str


_Line = tuple[str, Callable[[ModeFigures], str], str]


def measured(subject: Live, served: Publication, rebuilt: RebuildTimes) -> ModeFigures:
    """Measures what is served now, as `lk bench` does; events flow for as long as that takes."""
    settings = subject.settings
    before, at = _used(subject), _done(subject)
    (fresh,) = live.sample(subject, _SECONDS, 1)
    used, records = _used(subject).since(before), _done(subject) - at
    (answered,) = live.queries(subject, 1, _ANSWERS)
    pins = served.pins.values()
    names = {"batch": any(pin.build for pin in pins), "speed": any(pin.run for pin in pins)}
    return ModeFigures(
        name=", ".join(sorted({pin.mode for pin in pins})),
        freshness=fresh,
        query=answered.median,
        rebuilt=rebuilt,
        live=used,
        live_records=records,
        disk=_disk(settings, subject.catalog, served),
        processes=(*_SERVERS, *(process_of(run) for run in sorted(pinned_runs(served)))),
        steps=BATCH_STEPS if names["batch"] else (),
        tables=tuple(name for name, there in names.items() if there),
    )


def rows(first: ModeFigures, second: ModeFigures) -> tuple[ModeRow, ...]:
    """The two modes side by side, the numbers as text."""
    lines = (*_speeds(first, second), *_costs(), *_parts(first, second))
    return tuple(ModeRow(what, text(first), text(second), how) for what, text, how in lines)


_FLOW = f"{_SECONDS:.0f} s of {RATE:,.0f} trades a second"


def _speeds(first: ModeFigures, second: ModeFigures) -> Sequence[_Line]:
    batch, replay = first.rebuilt.records, second.rebuilt.records
    return (
        ("freshness, p50", lambda m: f"{m.freshness.p50:.2f} s", f"{_FLOW}, sent until counted by Trino"),
        (
            "freshness, p99",
            lambda m: f"{m.freshness.p99:.2f} s",
            "the same; the other run follows the log too, and Kappa's Java is minutes younger",
        ),
        ("query time, p50", lambda m: f"{m.query:.2f} s", f"5 minutes of one ticker, {_ANSWERS} answers"),
        (
            "rebuild: time",
            lambda m: f"{m.rebuilt.seconds:.0f} s",
            f"cold, beside the flow: `lk batch` of {batch:,} records, published; a replay of {replay:,}, caught up",
        ),
    )


def _costs() -> Sequence[_Line]:
    return (
        (
            "rebuild: CPU s per million",
            lambda m: _cpu(m.rebuilt.usage, m.rebuilt.records),
            "user and system time of the process and its children",
        ),
        (
            "rebuild: MB per million",
            lambda m: _mb(m.rebuilt.usage, m.rebuilt.records),
            "written to disk by the same processes",
        ),
        ("live: CPU s per million", lambda m: _cpu(m.live, m.live_records), f"the process of its run, {_FLOW}"),
        ("live: MB per million", lambda m: _mb(m.live, m.live_records), "the same; every batch comes on top of it"),
        (
            "disk used",
            lambda m: f"{m.disk / 10**6:.0f} MB",
            "lambda: archive, build and run; kappa: its run. Both need the log",
        ),
    )


def _parts(first: ModeFigures, second: ModeFigures) -> Sequence[_Line]:
    def each(words: Callable[[ModeFigures], Sequence[str]]) -> str:
        return "; ".join(f"{mode.name}: {', '.join(words(mode)) or 'none'}" for mode in (first, second))

    return (
        ("processes that must run", lambda m: f"{len(m.processes)}", each(lambda m: m.processes)),
        ("steps to be scheduled", lambda m: f"{len(m.steps)}", each(lambda m: m.steps)),
        ("parts of an answer", lambda m: f"{len(m.tables)}", each(lambda m: m.tables)),
    )


def _cpu(used: ResourceUsage, records: int) -> str:
    return f"{used.cpu * 10**6 / records:,.0f}" if records else "–"


def _mb(used: ResourceUsage, records: int) -> str:
    """Nothing where the system does not count what a process writes."""
    return f"{used.written / records:,.0f}" if records and used.written else "–"


def _used(subject: Live) -> ResourceUsage:
    """What the process of the run has used so far."""
    found = local_processes.running_process(subject.settings, process_of(subject.run))
    return resource_usage.usage_of(found.pid) if found else ResourceUsage()


def _done(subject: Live) -> int:
    newest = last_epoch(subject.settings, subject.run)
    return newest.end.size if newest else 0


def _disk(settings: Settings, catalog: Catalog, served: Publication) -> int:
    """Every table that is needed to serve this: a build needs the archive that it came from."""
    builds = {table_paths.batch(settings, view, pin.build) for view, pin in served.pins.items() if pin.build}
    archives = {table_paths.archive(settings, topic, catalog.decoder(topic)) for topic in catalog.topics if builds}
    folders = {table_paths.run(settings, run) for run in pinned_runs(served)}
    return sum(files.size(path) for path in builds | archives | folders)
