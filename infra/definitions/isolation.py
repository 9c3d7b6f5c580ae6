"""Takes secrets and the network from a process that runs definition files, which are code.

The network goes on Linux: the process gets a namespace of its own, as `unshare --user --net` makes one, in which there
is only loopback. Servers of this machine and of others cannot be reached from there.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

_SECRET = re.compile(r"PASSWORD|PASSWD|SECRET|TOKEN|CREDENTIAL|PRIVATE|APIKEY|ACCESS_KEY|_KEY\Z|AUTH", re.IGNORECASE)
# The name of a file; and what a child of spark-submit must say to its own JVM, which is of no use elsewhere.
_KEPT = {"LK_KAFKA_PASSWORD_FILE", "PYSPARK_GATEWAY_SECRET"}
# From Linux' sched.h, sockios.h and if.h.
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_REQUEST = struct.Struct("16sh14x")  # struct ifreq: a name and its flags


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables but those whose names say that they hold a secret."""
    return {name: value for name, value in environment.items() if name in _KEPT or not _SECRET.search(name)}


def leave_network() -> str | None:
    """Removes this process's network access for good; returns None, or why that failed.

    A process leaves before it starts a thread. One of spark-submit cannot: its JVM is in the network.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return "the Spark of spark-submit is in it"
    user, group = os.getuid(), os.getgid()
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        _unshare(libc, _NEW_USER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            Path("/proc/self", name).write_text(text, "ascii")
        _unshare(libc, _NEW_NET)
        _start_loopback()
    except (OSError, AttributeError) as e:  # no such function on macOS
        return str(e)
    return None


def _unshare(libc: ctypes.CDLL, namespace: int) -> None:
    if libc.unshare(namespace):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _start_loopback() -> None:
    """Starts `lo`, which is down in a new namespace. Python and its JVM talk over it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        _, flags = _REQUEST.unpack(fcntl.ioctl(any_socket, _GET_FLAGS, _REQUEST.pack(b"lo", 0)))
        fcntl.ioctl(any_socket, _SET_FLAGS, _REQUEST.pack(b"lo", flags | _UP))
