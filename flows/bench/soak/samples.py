"""Samples of what may grow: memory and descriptors of the processes that stay, files, and bytes of logs."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
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


@dataclass(frozen=True)
class Sample:
    """One moment: seconds since the begin, MiB (PSS), descriptors, files, and bytes of logs."""

    at: float
    memory: float
    descriptors: float
    files: float
    log_bytes: float


@dataclass
class Sampler:
    """Samples an instance until it is stopped."""

    live: LiveInstance
    samples: list[Sample] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        """Samples every EVERY seconds until ``stop`` is set."""
        began = time.monotonic()
        while not stop.wait(EVERY):
            self.samples.append(self._sample(time.monotonic() - began))

    def series(self) -> tuple[Series, ...]:
        """All samples, quantity by quantity."""
        quantities = (
            ("memory", "memory of Kafka, Trino and the speed run that stays (PSS)", "MiB", 64.0),
            ("descriptors", "descriptors of the same processes", "", 8.0),
            ("files", "files of the instance, but for the log, the archive and runs that end", "", 200.0),
            ("log_bytes", "bytes of the logs of all processes", "B", float(_MEBIBYTE)),
        )
        return tuple(
            Series(name.replace("_", " "), what, unit, noise, tuple((s.at, getattr(s, name)) for s in self.samples))
            for name, what, unit, noise in quantities
        )

    def _sample(self, at: float) -> Sample:
        pids = list(self._pids())
        members = [member for pid in pids for member in local_processes.process_tree(pid)]
        return Sample(
            at=at,
            memory=local_processes.memory_bytes(*pids) / _MEBIBYTE,
            descriptors=float(sum(map(_descriptors, members))),
            files=float(sum(1 for _ in self._files())),
            log_bytes=float(sum(map(_size, self.live.settings.log_dir.iterdir()))),
        )

    def _pids(self) -> Iterator[int]:
        for name in (SINGLE, trino_server.NAME, background.name(self.live.run)):
            process = local_processes.running_process(self.live.settings, name)
            if process:
                yield process.pid

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
