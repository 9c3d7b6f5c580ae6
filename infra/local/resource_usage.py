"""What processes use: CPU seconds and bytes written to disk, their descendants included."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass

import psutil

from infra.local import local_processes

_EVERY = 0.25


@dataclass(frozen=True)
class ResourceUsage:
    """CPU seconds and bytes written; 0 bytes where the system does not tell."""

    cpu: float = 0.0
    written: int = 0

    def since(self, before: ResourceUsage) -> ResourceUsage:
        """What was used after ``before``."""
        return ResourceUsage(self.cpu - before.cpu, self.written - before.written)


def usage_of(pid: int) -> ResourceUsage:
    """What a process and its descendants have used so far; those that ended count with whoever waited for them."""
    found = [_of(member) for member in local_processes.process_tree(pid)]
    return ResourceUsage(sum(one.cpu for one in found), sum(one.written for one in found))


class UsageMonitor:
    """Looks at a process four times a second until it ends, when nobody could ask any more; ``last`` is what it saw."""

    def __init__(self, pid: int) -> None:
        self.last = ResourceUsage()
        self._pid = pid
        threading.Thread(target=self._look, name=f"usage of {pid}", daemon=True).start()

    def _look(self) -> None:
        paused = threading.Event()
        while _runs(self._pid):
            seen = usage_of(self._pid)
            self.last = ResourceUsage(max(self.last.cpu, seen.cpu), max(self.last.written, seen.written))
            paused.wait(_EVERY)


def _runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def _of(member: psutil.Process) -> ResourceUsage:
    with contextlib.suppress(psutil.Error):
        times = member.cpu_times()
        waited = times.children_user + times.children_system
        return ResourceUsage(times.user + times.system + waited, _written(member))
    return ResourceUsage()


def _written(member: psutil.Process) -> int:
    """Not every system counts it, nor tells everybody."""
    counters = getattr(member, "io_counters", None)
    with contextlib.suppress(psutil.Error):
        return int(counters().write_bytes) if counters else 0
    return 0
