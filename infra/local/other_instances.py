"""Other instances of this user on this machine, by their running processes: no list of instances is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from infra.local import local_processes
from infra.settings import PREFIX, Settings


@dataclass(frozen=True)
class OtherInstance:
    """An instance with running processes: its data folder, its ports by setting, and since when the oldest runs."""

    data: Path
    ports: Mapping[str, int]
    since: datetime


def other_instances(settings: Settings) -> tuple[OtherInstance, ...]:
    """The running instances with another data folder, by folder; those of other users cannot be seen."""
    folders = {folder.resolve() for process in psutil.process_iter() for folder in _folders(process)}
    others = sorted(folders - {settings.data.resolve()})
    described = (_described(settings.model_copy(update={"data": folder})) for folder in others)
    return tuple(instance for instance in described if instance)


def _folders(process: psutil.Process) -> Iterator[Path]:
    """Data folders that a process may belong to: a server works in the folder of logs, a run has ours as a variable."""
    with suppress(psutil.Error, OSError):
        folder = Path(process.cwd())
        if folder.name == "logs":
            yield folder.parent
        if process.cmdline()[1:3] == ["-m", "cli"] and (data := process.environ().get(f"{PREFIX}DATA")):
            yield Path(data)


def _described(settings: Settings) -> OtherInstance | None:
    """The instance with this data folder; None if no process that its state files record runs."""
    names = local_processes.recorded_names(settings)
    running = [process for name in names if (process := local_processes.running_process(settings, name))]
    starts = [start for process in running if (start := _start(process.pid))]
    if not starts:
        return None
    ports = {setting: port for process in running for setting, port in process.ports.items()}
    return OtherInstance(settings.data, ports, datetime.fromtimestamp(min(starts), UTC))


def _start(pid: int) -> float | None:
    with suppress(psutil.Error):
        return psutil.Process(pid).create_time()
    return None
