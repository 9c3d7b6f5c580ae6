"""The identity of a process, such as the holder of a lease; it differs from a later process with the same pid."""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

_PROC = Path("/proc")
_CLOCK_CORRECTION = 5.0  # seconds by which the OS may correct a start time
_DIGEST = 2.0**47  # starts from here on are digests; smaller ones, of older programs and of macOS, are times


@dataclass(frozen=True)
class ProcessIdentity:
    """Host, pid, start (see ``process_start``) and user of a process."""

    host: str
    pid: int
    started: float
    who: str

    @staticmethod
    def current() -> ProcessIdentity:
        """This process."""
        pid = os.getpid()
        return ProcessIdentity(socket.gethostname(), pid, process_start(pid), current_user())

    @property
    def is_dead(self) -> bool:
        """Whether the process ended for certain; always False for a process on another host."""
        if self.host != socket.gethostname():
            return False
        try:
            zombie = psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE
            return zombie or not has_start(self.pid, self.started)
        except psutil.NoSuchProcess:
            return True

    def __str__(self) -> str:
        return f"process {self.pid} of {self.who} on {self.host}"


def process_start(pid: int) -> float:
    """A number that no later process with this pid has. Raises psutil.NoSuchProcess.

    On Linux it is a digest of the boot's id and the clock ticks from boot to start: a step of the clock, which moves
    the start time that the OS reports, does not change it. Elsewhere it is the start time in epoch seconds.
    """
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text("ascii")
        ticks = (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except OSError:
        return float(psutil.Process(pid).create_time())
    digest = hashlib.sha256(f"{boot} {ticks}".encode()).digest()
    return _DIGEST + int.from_bytes(digest[:5])


def has_start(pid: int, started: float) -> bool:
    """Whether the process with this pid has this start. Raises psutil.NoSuchProcess."""
    if started >= _DIGEST:
        return process_start(pid) == started
    return abs(psutil.Process(pid).create_time() - started) <= _CLOCK_CORRECTION


def current_user() -> str:
    """The user name of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
