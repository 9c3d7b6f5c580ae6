"""Samples of what may grow: memory and descriptors of the processes that stay, files, and bytes of logs."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from flows.bench.soak.growth import Series
from flows.measure.live_system import LiveInstance
from infra.lake import table_paths
from infra.local import local_processes, trino_server
from infra.settings.local_brokers import SINGLE
from speed.process import background

EVERY = 5.0
_MEBIBYTE = 2**20
_SPEED = "speed"  # the run that stays
# MiB: the heap of a JVM fills, and shrinks with a collection. Trino's went from 2.4 to 1.5 GiB within an hour.
_HEAP_NOISE = 512.0


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
            ("files", "files of the instance, but for the log, the archive and runs that end", "", 200.0),
            ("log_bytes", "bytes of the logs of all processes", "B", float(_MEBIBYTE)),
        )
        counted = (
            Series(name.replace("_", " "), what, unit, noise, tuple((s.at, getattr(s, name)) for s in self.samples))
            for name, what, unit, noise in quantities
        )
        return (*map(self._memory, (SINGLE, trino_server.NAME, _SPEED)), *counted)

    def _memory(self, process: str) -> Series:
        """The memory of one process, so that a leak has a name."""
        samples = tuple((s.at, s.memory[process]) for s in self.samples if process in s.memory)
        return Series(f"memory {process}", f"memory of {process} (PSS)", "MiB", _HEAP_NOISE, samples)

    def _sample(self, at: float) -> SoakSample:
        pids = dict(self._pids())
        members = [member for pid in pids.values() for member in local_processes.process_tree(pid)]
        return SoakSample(
            at=at,
            memory={name: local_processes.memory_bytes(pid) / _MEBIBYTE for name, pid in pids.items()},
            descriptors=float(sum(map(_descriptors, members))),
            files=float(sum(1 for _ in self._files())),
            log_bytes=float(sum(map(_size, self.live.settings.log_dir.iterdir()))),
        )

    def _pids(self) -> Iterator[tuple[str, int]]:
        names = {SINGLE: SINGLE, trino_server.NAME: trino_server.NAME, _SPEED: background.name(self.live.run)}
        for process, recorded_name in names.items():
            running = local_processes.running_process(self.live.settings, recorded_name)
            if running:
                yield process, running.pid

    def _files(self) -> Iterator[str]:
        """Files below the data folder that must not grow with time: neither the log, its archive nor passing runs."""
        settings = self.live.settings
        run, checkpoint = table_paths.run(settings, self.live.run), table_paths.checkpoint(settings, self.live.run)
        lake = Path(settings.lake_root)
        for root in (
            lake / "control",
            lake / "batch",
            lake / "_metastore",
            Path(run),
            Path(checkpoint),
            settings.run_dir,
        ):
            for _, _, names in os.walk(root):
                yield from names


def _descriptors(member: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(member.num_fds())
    return 0


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):  # it was shortened or removed meanwhile
        return path.stat().st_size
    return 0
