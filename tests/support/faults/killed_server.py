"""A server that is killed, and started again at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from infra.local import local_processes, local_stack
from infra.settings import Settings
from tests.support.faults.killing import kill


@contextmanager
def killed_server(settings: Settings, server: str) -> Iterator[None]:
    """Kills a server that runs; starts it again at the end, also after a failure."""
    running = local_processes.running_process(settings, server)
    assert running
    kill(running.pid)
    try:
        yield
    finally:
        local_stack.start_servers(settings)
