"""Who holds a lease: a process that can be told from any later one with the same number."""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class ProcessIdentity:
    """A process: host, pid and when it started, so that a pid given again is not taken for it."""

    host: str
    pid: int
    started: float
    who: str

    @staticmethod
    def current() -> ProcessIdentity:
        """This process."""
        pid = os.getpid()
        return ProcessIdentity(socket.gethostname(), pid, psutil.Process(pid).create_time(), current_user())

    @property
    def is_dead(self) -> bool:
        """Whether it is known to be gone; never known of a process on another host."""
        if self.host != socket.gethostname():
            return False
        try:
            process = psutil.Process(self.pid)
            return abs(process.create_time() - self.started) > 1 or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def __str__(self) -> str:
        return f"process {self.pid} of {self.who} on {self.host}"


def current_user() -> str:
    """The user of this process, for the record."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
