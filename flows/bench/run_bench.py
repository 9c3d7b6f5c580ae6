"""`lk bench`: every promised figure, measured on fresh instances, with its spread."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from core.catalog import Catalog
from core.errors import Usage
from flows import speed
from flows import stack as servers
from flows.bench import bulk, gate_time, many_epochs, replay, rollback_time, stream_programs
from flows.bench.bulk import BulkInstance
from flows.bench.gate_time import BuiltInstance
from flows.bench.many_epochs import EpochsLog
from flows.bench.stream_programs import ProgramsInstance
from flows.measure import instance, live_system
from flows.measure.console import note, waiting
from flows.measure.figures import Figure, Report, markdown, number, report
from flows.measure.live_system import Live
from infra.control import runs
from infra.definitions import definition_files
from infra.local import local_stack
from infra.project_files import VIEWS
from infra.settings import Settings

Subject = TypeVar("Subject")
FOLDER = Path(".bench")
REPEAT = 3
LIVE: dict[str, Callable[[Live, int], list[Figure]]] = {
    "freshness": live_system.freshness,
    "query": live_system.queries,
    "recovery": live_system.recovery,
    "freshness-batch": live_system.freshness_batch,
    "memory": live_system.memory,
    "rollback": rollback_time.rollback,
}
LOG: dict[str, Callable[[EpochsLog, int], list[Figure]]] = {"epochs": many_epochs.epochs}
PROGRAMS: dict[str, Callable[[ProgramsInstance, int], list[Figure]]] = {"programs": stream_programs.programs}
GATE: dict[str, Callable[[BuiltInstance, int], list[Figure]]] = {"gate": gate_time.gates}
BULK: dict[str, Callable[[BulkInstance, int], list[Figure]]] = {
    "produce": bulk.producing,
    "consume": bulk.consuming,
    "layers": bulk.layers,
    "replay": replay.replaying,
}


def bench(
    base: Settings, names: Sequence[str] = (), *, repeat: int = REPEAT, folder: Path = FOLDER, write: Path | None = None
) -> Report:
    """Measures the named groups of figures (default: all), each ``repeat`` times; the instances are removed.

    ``write`` also writes them as a Markdown page. Raises Usage for an unknown name.
    """
    known = [*LIVE, *LOG, *PROGRAMS, *GATE, *BULK]
    unknown = [name for name in names if name not in known]
    if unknown or repeat < 1:
        what = f"there is no figure {', '.join(unknown)}" if unknown else "nothing would be repeated"
        raise Usage(what, fix=f"choose among {', '.join(known)}, and repeat at least once")
    began, wanted = time.monotonic(), list(names) or known
    found = [
        *_group(wanted, LIVE, lambda: _live(base, folder), repeat),
        *_group(wanted, LOG, lambda: _filled(base, folder, many_epochs.fill, many_epochs.TRADES), repeat),
        *_group(wanted, PROGRAMS, lambda: _shop(base, folder), repeat),
        *_group(wanted, GATE, lambda: _filled(base, folder, gate_time.fill, gate_time.COUNT), repeat),
        *_group(wanted, BULK, lambda: _filled(base, folder, bulk.fill, bulk.COUNT), repeat),
    ]
    done = report(found, time.monotonic() - began)
    if write:
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_text(markdown(done), "utf-8")
    return done


def show(found: Report) -> None:
    """Prints the figures."""
    out = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column, justify in (("figure", "left"), ("what", "left"), ("must be", "right"), ("median", "right")):
        table.add_column(column, justify="right" if justify == "right" else "left")
    table.add_column("smallest – largest", justify="right")
    table.add_column("unit")
    table.add_column("")
    for one in found.figures:
        mark = "[green]✓[/]" if one.ok else "[bold red]✗ missed[/]"
        table.add_row(one.name, one.what, one.bound, number(one.median), one.spread, one.unit, mark)
    out.print(table)
    out.print(f"\n{found.machine}; {found.versions}\n{found.at}, {found.seconds:.0f} s: {found.command}", style="dim")


@contextmanager
def _live(base: Settings, folder: Path) -> Iterator[Live]:
    with _instance(base, folder) as made:
        catalog = definition_files.load(made.settings)
        with waiting("starting the speed layer"):
            speed.start(made.settings, catalog)
        run = runs.read_runs(made.settings)[-1].id
        live = Live(made.settings, catalog, made.config, run)
        with waiting("warming up"):
            live_system.warm_up(live)
        yield live


@contextmanager
def _filled(
    base: Settings, folder: Path, fill: Callable[[Settings, Catalog, Path], Subject], count: int
) -> Iterator[Subject]:
    with _instance(base, folder) as made:
        with waiting(f"sending {count:,} trades"):
            subject = fill(made.settings, definition_files.load(made.settings), made.config)
        yield subject


@contextmanager
def _shop(base: Settings, folder: Path) -> Iterator[ProgramsInstance]:
    views = folder.absolute() / "views"
    with _instance(base.model_copy(update={"views": (views,)}), folder, stream_programs.FILES) as made:
        yield stream_programs.opened(made.settings, definition_files.load(made.settings), made.config)


@contextmanager
def _instance(base: Settings, folder: Path, programs: Sequence[str] = ()) -> Iterator[instance.Instance]:
    """A fresh instance that is removed when the block ends well; after a failure it is only stopped.

    ``programs`` are the only ones of that folder that it knows.
    """
    made = instance.fresh(base, folder)
    try:
        for name in programs:
            (made.folder / "views").mkdir(exist_ok=True)
            shutil.copy(VIEWS / "programs" / f"{name}.py", made.folder / "views")
        servers.up(made.settings, definition_files.load(made.settings))
        yield made
    finally:
        local_stack.stop_servers(made.settings)
    instance.remove(folder)


def _group(
    wanted: Sequence[str],
    measures: Mapping[str, Callable[[Subject, int], list[Figure]]],
    opened: Callable[[], AbstractContextManager[Subject]],
    repeat: int,
) -> list[Figure]:
    """The wanted figures of one kind of instance; none is made when none is wanted."""
    chosen = [name for name in measures if name in wanted]
    found: list[Figure] = []
    if chosen:
        with opened() as subject:
            for name in chosen:
                with waiting(f"measuring {name}"):
                    figures = measures[name](subject, repeat)
                for one in figures:
                    note(f"{one.name}: {number(one.median)} {one.unit}, {one.spread}")
                found += figures
    return found
