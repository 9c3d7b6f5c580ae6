"""CPU seconds and bytes written of a process and its descendants."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass

import psutil

from infra.local import local_processes

_EVERY = 0.25


@dataclass(frozen=True)
class ResourceUsage:
    """CPU seconds and bytes written; 0 bytes where the OS does not count them."""

    cpu: float = 0.0
    written: int = 0

    def since(self, before: ResourceUsage) -> ResourceUsage:
        """The difference to an earlier measurement."""
        return ResourceUsage(self.cpu - before.cpu, self.written - before.written)


def usage_of(pid: int) -> ResourceUsage:
    """Total of a process and its descendants so far; an ended descendant counts with the parent that waited for it."""
    usages = [_usage_of(member) for member in local_processes.process_tree(pid)]
    return ResourceUsage(sum(usage.cpu for usage in usages), sum(usage.written for usage in usages))


class UsageMonitor:
    """Measures a process four times a second until it ends; ``last`` is the latest measurement, which outlives it."""

    def __init__(self, pid: int) -> None:
        self.last = ResourceUsage()
        self._pid = pid
        threading.Thread(target=self._poll, name=f"usage of {pid}", daemon=True).start()

    def _poll(self) -> None:
        paused = threading.Event()
        while _runs(self._pid):
            now = usage_of(self._pid)
            self.last = ResourceUsage(max(self.last.cpu, now.cpu), max(self.last.written, now.written))
            paused.wait(_EVERY)


def _runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def _usage_of(member: psutil.Process) -> ResourceUsage:
    with contextlib.suppress(psutil.Error):
        times = member.cpu_times()
        waited = times.children_user + times.children_system
        return ResourceUsage(times.user + times.system + waited, _written(member))
    return ResourceUsage()


def _written(member: psutil.Process) -> int:
    """Bytes written; 0 where the OS does not count them or denies access."""
    counters = getattr(member, "io_counters", None)
    with contextlib.suppress(psutil.Error):
        return int(counters().write_bytes) if counters else 0
    return 0
