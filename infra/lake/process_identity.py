"""The identity of a process, such as the holder of a lease; it differs from a later process with the same pid."""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class ProcessIdentity:
    """Host, pid and start time (epoch seconds) of a process, and its user."""

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
        """Whether the process ended for certain; always False for a process on another host."""
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
    """The user name of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
