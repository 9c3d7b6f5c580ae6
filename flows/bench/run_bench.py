"""`lk bench`: measures every benchmark figure on fresh instances."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from core.catalog import Catalog
from core.errors import Usage
from core.evidence.quantity import trimmed
from flows import speed, stack
from flows.bench import bulk, gate_time, kept_events, many_epochs, replay_rate, rollback_time, stream_programs
from flows.bench.age.age_figures import age
from flows.bench.age.aged_instance import FRESH, Age, aged_instance
from flows.bench.age.beside import AgedPair
from flows.bench.bulk import BulkInstance
from flows.bench.gate_time import BuiltInstance
from flows.bench.kept_events import KeptInstance
from flows.bench.many_epochs import EpochsLog
from flows.bench.peers import peer_figures
from flows.bench.peers.peer_figures import PeersLog
from flows.bench.soak.soak import CHANGED, SoakInstance, soak
from flows.bench.stream_programs import ProgramsInstance
from flows.measure import instance, live_system
from flows.measure.console import note, waiting
from flows.measure.figures import Figure, Report, markdown, report
from flows.measure.live_system import LiveInstance
from infra.control import runs
from infra.definitions import definition_files
from infra.local import local_stack
from infra.project_files import VIEWS
from infra.settings import Settings
from infra.spark.session import temporary_session
from speed.job import CONF

Subject = TypeVar("Subject")
FOLDER = Path(".bench")
REPEAT = 3
LIVE: dict[str, Callable[[LiveInstance, int], list[Figure]]] = {
    "freshness": live_system.freshness,
    "query": live_system.queries,
    "recovery": live_system.recovery,
    "freshness-batch": live_system.freshness_batch,
    "memory": live_system.memory,
    "rollback": rollback_time.rollback,
}
LOG: dict[str, Callable[[EpochsLog, int], list[Figure]]] = {"epochs": many_epochs.epochs}
PROGRAMS: dict[str, Callable[[ProgramsInstance, int], list[Figure]]] = {"programs": stream_programs.programs}
KEPT: dict[str, Callable[[KeptInstance, int], list[Figure]]] = {"kept": kept_events.epochs}
GATE: dict[str, Callable[[BuiltInstance, int], list[Figure]]] = {"gate": gate_time.gates}
BULK: dict[str, Callable[[BulkInstance, int], list[Figure]]] = {
    "produce": bulk.producing,
    "consume": bulk.consuming,
    "layers": bulk.layers,
    "replay": replay_rate.replays_beside_live,
}
PEERS: dict[str, Callable[[PeersLog, int], list[Figure]]] = {"peers": peer_figures.peers}
AGE: dict[str, Callable[[AgedPair, int], list[Figure]]] = {"age": age}
SOAK: dict[str, Callable[[SoakInstance, int], list[Figure]]] = {"soak": soak}
SHORT = [*LIVE, *LOG, *PROGRAMS, *GATE, *BULK]  # what is measured by default: the others take long


@dataclass(frozen=True)
class Sizes:
    """Sizes of the long figures: the epochs of `age`, the hours of `soak`."""

    epochs: int = 7_000_000
    hours: float = 2.0


DEFAULT = Sizes()


def bench(
    base: Settings,
    names: Sequence[str] = (),
    *,
    repeat: int = REPEAT,
    sizes: Sizes = DEFAULT,
    folder: Path = FOLDER,
    write: Path | None = None,
) -> Report:
    """Measures the named groups of figures (default: SHORT) ``repeat`` times each, then removes the instances.

    ``write`` is a Markdown page to write, if any. Raises Usage for an unknown name.
    """
    groups = [*SHORT, *KEPT, *PEERS, *AGE, *SOAK]
    unknown = [name for name in names if name not in groups]
    if unknown or repeat < 1:
        what = f"there is no figure {', '.join(unknown)}" if unknown else "--repeat must be 1 or more"
        raise Usage(what, fix=f"choose from {', '.join(groups)}; repeat at least once")
    began, chosen = time.monotonic(), list(names) or SHORT
    figures = [
        *_measure_group(chosen, LIVE, lambda: _live(base, folder), repeat),
        *_measure_group(chosen, LOG, lambda: _filled(base, folder, many_epochs.fill, many_epochs.TRADES), repeat),
        *_measure_group(chosen, PROGRAMS, lambda: _shop(base, folder), repeat),
        *_measure_group(chosen, KEPT, lambda: _kept(base, folder), repeat),
        *_measure_group(chosen, GATE, lambda: _filled(base, folder, gate_time.fill, gate_time.COUNT), repeat),
        *_measure_group(chosen, BULK, lambda: _filled(base, folder, bulk.fill, bulk.COUNT), repeat),
        *_measure_group(chosen, PEERS, lambda: _filled(base, folder, peer_figures.fill, peer_figures.COUNT), repeat),
        *_measure_group(chosen, AGE, lambda: _aged(base, folder, Age.of(sizes.epochs)), repeat),
        *_measure_group(chosen, SOAK, lambda: _soaked(base, folder, sizes.hours), repeat),
    ]
    measured = report(figures, time.monotonic() - began)
    if write:
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_text(markdown(measured), "utf-8")
    return measured


def show(measured: Report) -> None:
    """Prints the figures as a table."""
    out = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column, justify in (("figure", "left"), ("what", "left"), ("must be", "right"), ("median", "right")):
        table.add_column(column, justify="right" if justify == "right" else "left")
    table.add_column("smallest – largest", justify="right")
    table.add_column("unit")
    table.add_column("")
    for figure in measured.figures:
        mark = "[green]✓[/]" if figure.ok else "[bold red]✗ missed[/]"
        median = trimmed(figure.median)
        table.add_row(figure.name, figure.what, figure.bound, median, figure.spread, figure.unit, mark)
    out.print(table)
    out.print(
        f"\n{measured.machine}; {measured.versions}\n{measured.at}, {measured.seconds:.0f} s: {measured.command}",
        style="dim",
    )


@contextmanager
def _live(base: Settings, folder: Path) -> Iterator[LiveInstance]:
    with _instance(base, folder) as created:
        catalog = definition_files.load(created.settings)
        with waiting("starting the speed layer"):
            speed.start(created.settings, catalog)
        run = runs.read_runs(created.settings)[-1].id
        live = LiveInstance(created.settings, catalog, created.config, run)
        with waiting("warming up"):
            live_system.warm_up(live)
        yield live


@contextmanager
def _filled(
    base: Settings, folder: Path, fill: Callable[[Settings, Catalog, Path], Subject], count: int
) -> Iterator[Subject]:
    with _instance(base, folder) as created:
        with waiting(f"sending {count:,} trades"):
            subject = fill(created.settings, definition_files.load(created.settings), created.config)
        yield subject


@contextmanager
def _shop(base: Settings, folder: Path) -> Iterator[ProgramsInstance]:
    views = folder.absolute() / "views"
    with _instance(base.model_copy(update={"views": (views,)}), folder, stream_programs.FILES) as created:
        yield stream_programs.open_instance(created.settings, definition_files.load(created.settings), created.config)


@contextmanager
def _kept(base: Settings, folder: Path) -> Iterator[KeptInstance]:
    views = folder.absolute() / "views"
    with _instance(base.model_copy(update={"views": (views,)}), folder, kept_events.FILES) as created:
        catalog = definition_files.load(created.settings).only([kept_events.VIEW])
        yield kept_events.fill(created.settings, catalog, created.config)


@contextmanager
def _aged(base: Settings, folder: Path, age: Age) -> Iterator[AgedPair]:
    """An aged and a fresh instance at the same time, so that the load of the machine is the same for both."""
    parts = [folder.with_name(f"{folder.name}-{name}") for name in ("aged", "fresh")]
    with (
        temporary_session(base, "bench", CONF) as spark,
        aged_instance(base, parts[0], age, spark) as aged,
        aged_instance(base, parts[1], FRESH, spark) as fresh,
    ):
        yield AgedPair(fresh, aged, spark)


@contextmanager
def _soaked(base: Settings, folder: Path, hours: float) -> Iterator[SoakInstance]:
    with _instance(base.model_copy(update=CHANGED), folder) as created:
        catalog = definition_files.load(created.settings)
        with waiting("starting the speed layer"):
            speed.start(created.settings, catalog)
        run = runs.read_runs(created.settings)[-1].id
        yield SoakInstance(LiveInstance(created.settings, catalog, created.config, run), hours)


@contextmanager
def _instance(base: Settings, folder: Path, programs: Sequence[str] = ()) -> Iterator[instance.Instance]:
    """A fresh instance, removed after the block; if the block fails, it is only stopped.

    ``programs`` are the files of views/programs that it has.
    """
    created = instance.create(base, folder)
    try:
        for name in programs:
            (created.folder / "views").mkdir(exist_ok=True)
            shutil.copy(VIEWS / "programs" / f"{name}.py", created.folder / "views")
        stack.up(created.settings, definition_files.load(created.settings))
        yield created
    finally:
        local_stack.stop_servers(created.settings)
    instance.remove(folder)


def _measure_group(
    names: Sequence[str],
    measures: Mapping[str, Callable[[Subject, int], list[Figure]]],
    open_subject: Callable[[], AbstractContextManager[Subject]],
    repeat: int,
) -> list[Figure]:
    """The named figures of one kind of instance. Creates no instance without a figure to measure."""
    chosen = [name for name in measures if name in names]
    measured: list[Figure] = []
    if chosen:
        with open_subject() as subject:
            for name in chosen:
                with waiting(f"measuring {name}"):
                    figures = measures[name](subject, repeat)
                for figure in figures:
                    note(f"{figure.name}: {trimmed(figure.median)} {figure.unit}, {figure.spread}")
                measured += figures
    return measured
