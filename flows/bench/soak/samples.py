"""Samples of what may grow: memory and descriptors of the processes that stay, files, and bytes of logs."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from core.identifiers import Name
from flows.bench.soak.growth import Series
from flows.measure.live_system import LiveInstance
from infra.local import local_processes, trino_server
from infra.settings import Settings
from infra.settings.local_brokers import SINGLE
from speed.process import background

EVERY = 5.0
_MEBIBYTE = 2**20
_SPEED, _SPEED_PYTHON = "speed", "speed python"  # the run that stays: its JVM, and Python's own memory
# MiB: the heap of a JVM fills, and shrinks with a collection. Trino's went from 2.4 to 1.5 GiB within an hour.
_HEAP_NOISE = 512.0
_PYTHON_NOISE = 32.0  # MiB: Python has no heap that is collected late, so that a leak shows
_JVM = "java"


@dataclass(frozen=True)
class SoakSample:
    """One moment: seconds since the begin, MiB (PSS) of each process, descriptors, files, and bytes of logs."""

    at: float
    memory: Mapping[str, float]
    descriptors: float
    files: float
    log_bytes: float


@dataclass
class Sampler:
    """Samples an instance until it is stopped."""

    live: LiveInstance
    samples: list[SoakSample] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        """Samples every EVERY seconds until ``stop`` is set."""
        began = time.monotonic()
        while not stop.wait(EVERY):
            self.samples.append(self._sample(time.monotonic() - began))

    def series(self) -> tuple[Series, ...]:
        """All samples, quantity by quantity."""
        quantities = (
            ("descriptors", "descriptors of the same processes", "", 8.0),
            ("files", "files of the data folder, but for the log, the archive and runs that end", "", 200.0),
            ("log_bytes", "bytes of the logs of all processes", "B", float(_MEBIBYTE)),
        )
        counted = (
            Series(name.replace("_", " "), what, unit, noise, tuple((s.at, getattr(s, name)) for s in self.samples))
            for name, what, unit, noise in quantities
        )
        return (*map(self._memory, (SINGLE, trino_server.NAME, _SPEED, _SPEED_PYTHON)), *counted)

    def _memory(self, process: str) -> Series:
        """The memory of one process, so that a leak has a name."""
        samples = tuple((s.at, s.memory[process]) for s in self.samples if process in s.memory)
        noise = _PYTHON_NOISE if process == _SPEED_PYTHON else _HEAP_NOISE
        return Series(f"memory {process}", f"memory of {process} (PSS)", "MiB", noise, samples)

    def _sample(self, at: float) -> SoakSample:
        pids = dict(self._pids())
        members = [member for pid in pids.values() for member in local_processes.process_tree(pid)]
        return SoakSample(
            at=at,
            memory={name: size for process, pid in pids.items() for name, size in memory(process, pid).items()},
            descriptors=float(sum(map(_descriptors, members))),
            files=float(count_files(self.live.settings, self.live.run)),
            log_bytes=float(sum(map(_size, self.live.settings.log_dir.iterdir()))),
        )

    def _pids(self) -> Iterator[tuple[str, int]]:
        names = {SINGLE: SINGLE, trino_server.NAME: trino_server.NAME, _SPEED: background.name(self.live.run)}
        for process, recorded_name in names.items():
            running = local_processes.running_process(self.live.settings, recorded_name)
            if running:
                yield process, running.pid


def memory(process: str, pid: int) -> dict[str, float]:
    """MiB (PSS) of a process with its descendants; of the speed run apart: the JVM, and Python with what it started."""
    members = local_processes.process_tree(pid)
    if process != _SPEED:
        return {process: _mebibytes(members)}
    jvm = [member for member in members if _is_jvm(member)]
    return {_SPEED: _mebibytes(jvm), _SPEED_PYTHON: _mebibytes(member for member in members if member not in jvm)}


def count_files(settings: Settings, run: Name) -> int:
    """The files of the data folder that must not grow with time: neither the log, its archive nor other runs.

    Whatever else is in the folder counts, also what no part of this program knows.
    """
    lake, checkpoints = Path(settings.lake_root), Path(settings.checkpoint_root)
    excluded = {broker.folder for broker in settings.brokers} | {lake / "archive"}
    count = 0
    for root, folders, names in os.walk(settings.data):
        of_runs = Path(root) in (lake / "speed", checkpoints)
        folders[:] = [name for name in folders if Path(root, name) not in excluded and (not of_runs or name == run)]
        count += len(names)
    return count


def _mebibytes(members: Iterable[psutil.Process]) -> float:
    return sum(map(local_processes.memory_of, members)) / _MEBIBYTE


def _is_jvm(member: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(member.name() == _JVM)
    return False


def _descriptors(member: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(member.num_fds())
    return 0


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # it was shortened or removed meanwhile
        return path.stat().st_size
    return 0
