"""`lk bench`: measures every benchmark figure on fresh instances."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from core.errors import Usage
from core.evidence.quantity import trimmed
from flows.bench import (
    bench_instances,
    bulk,
    clustering_cost,
    gate_time,
    live_cost,
    many_epochs,
    replay_rate,
    rollback_time,
    secured_cost,
    stream_programs,
    verb_times,
)
from flows.bench.age.age_figures import age
from flows.bench.age.aged_instance import Age
from flows.bench.age.beside import AgedPair
from flows.bench.bulk import BulkInstance
from flows.bench.clustering_cost import KeptInstance
from flows.bench.gate_time import BuiltInstance
from flows.bench.growth import growth_chart, growth_figures
from flows.bench.growth.growth_figures import GrowthLogs
from flows.bench.many_epochs import EpochsLog
from flows.bench.peers import peer_figures
from flows.bench.peers.peer_figures import PeersLog
from flows.bench.secured_cost import SecuredPair
from flows.bench.soak.soak import SoakInstance, soak
from flows.bench.stream_programs import ProgramsInstance
from flows.measure import live_system
from flows.measure.console import note
from flows.measure.figures import Figure, Report, markdown, report
from flows.measure.live_system import LiveInstance
from infra.progress_bar import bar
from infra.settings import Settings

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
    "cost": live_cost.costs,
}
LOG: dict[str, Callable[[EpochsLog, int], list[Figure]]] = {"epochs": many_epochs.epochs}
PROGRAMS: dict[str, Callable[[ProgramsInstance, int], list[Figure]]] = {"programs": stream_programs.programs}
KEPT: dict[str, Callable[[KeptInstance, int], list[Figure]]] = {"kept": clustering_cost.epochs}
GATE: dict[str, Callable[[BuiltInstance, int], list[Figure]]] = {"gate": gate_time.gates}
VERBS: dict[str, Callable[[BuiltInstance, int], list[Figure]]] = {"verbs": verb_times.verbs}
BULK: dict[str, Callable[[BulkInstance, int], list[Figure]]] = {
    "produce": bulk.producing,
    "consume": bulk.consuming,
    "layers": bulk.layers,
    "replay": replay_rate.replays_beside_live,
}
PEERS: dict[str, Callable[[PeersLog, int], list[Figure]]] = {"peers": peer_figures.peers}
SECURED: dict[str, Callable[[SecuredPair, int], list[Figure]]] = {"secured": secured_cost.costs}
GROWTH: dict[str, Callable[[GrowthLogs, int], list[Figure]]] = {"growth": growth_figures.growth}
AGE: dict[str, Callable[[AgedPair, int], list[Figure]]] = {"age": age}
SOAK: dict[str, Callable[[SoakInstance, int], list[Figure]]] = {"soak": soak}
SHORT = [*LIVE, *LOG, *PROGRAMS, *GATE, *VERBS, *BULK]  # what is measured by default: the others take long


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

    ``write`` is a Markdown page to write, if any; the plot of growth is written beside it.
    Raises Usage for an unknown name.
    """
    groups = [*SHORT, *KEPT, *PEERS, *GROWTH, *SECURED, *AGE, *SOAK]
    unknown = [name for name in names if name not in groups]
    if unknown or repeat < 1:
        what = f"there is no figure {', '.join(unknown)}" if unknown else "--repeat must be 1 or more"
        raise Usage(what, fix=f"choose from {', '.join(groups)}; repeat at least once")
    began, chosen = time.monotonic(), list(names) or SHORT
    figures = [
        *_measure_group(chosen, LIVE, lambda: bench_instances.live_instance(base, folder), repeat),
        *_measure_group(
            chosen,
            LOG,
            lambda: bench_instances.filled_instance(base, folder, many_epochs.fill, many_epochs.TRADES),
            repeat,
        ),
        *_measure_group(chosen, PROGRAMS, lambda: bench_instances.programs_instance(base, folder), repeat),
        *_measure_group(chosen, KEPT, lambda: bench_instances.kept_instance(base, folder), repeat),
        *_measure_group(
            chosen, GATE, lambda: bench_instances.filled_instance(base, folder, gate_time.fill, gate_time.COUNT), repeat
        ),
        *_measure_group(
            chosen,
            VERBS,
            lambda: bench_instances.filled_instance(base, folder, verb_times.fill, verb_times.RECORDS),
            repeat,
        ),
        *_measure_group(
            chosen, BULK, lambda: bench_instances.filled_instance(base, folder, bulk.fill, bulk.COUNT), repeat
        ),
        *_measure_group(
            chosen,
            PEERS,
            lambda: bench_instances.filled_instance(base, folder, peer_figures.fill, peer_figures.COUNT),
            repeat,
        ),
        *_measure_group(chosen, GROWTH, lambda: bench_instances.growth_logs(base, folder), repeat),
        *_measure_group(chosen, SECURED, lambda: bench_instances.secured_pair(base, folder), repeat),
        *_measure_group(chosen, AGE, lambda: bench_instances.aged_pair(base, folder, Age.of(sizes.epochs)), repeat),
        *_measure_group(chosen, SOAK, lambda: bench_instances.soaked_instance(base, folder, sizes.hours), repeat),
    ]
    measured = report(figures, time.monotonic() - began)
    if write:
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_text(markdown(measured), "utf-8")
        plot = growth_chart.drawn(figures)
        if plot:
            write.with_name("growth.svg").write_text(plot, "utf-8")
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
                with bar(f"measuring {name}"):
                    figures = measures[name](subject, repeat)
                for figure in figures:
                    note(f"{figure.name}: {trimmed(figure.median)} {figure.unit}, {figure.spread}")
                measured += figures
    return measured
