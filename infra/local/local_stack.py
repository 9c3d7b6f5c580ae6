"""Starts, stops and lists all local servers of one instance: `lk up`, `down`, `status` and `logs`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.errors import Refused, Usage
from infra import file_lock
from infra.kafka import admin_requests
from infra.local import airflow_server, kafka_broker, local_processes, trino_server, ui_server
from infra.local.secured import users
from infra.local.server_spec import Server
from infra.progress_bar import console
from infra.retry import wait_until
from infra.settings import Settings, local_brokers
from infra.settings.local_secrets import local_secrets

# Each server: its name, its specification, and whether this instance runs it.
SERVERS: tuple[tuple[str, Callable[[Settings], Server], Callable[[Settings], bool]], ...] = (
    (
        airflow_server.NAME,
        airflow_server.server,
        lambda settings: local_processes.recorded(settings, airflow_server.NAME) is not None,
    ),
    (
        ui_server.NAME,
        ui_server.server,
        lambda settings: local_processes.recorded(settings, ui_server.NAME) is not None,
    ),
    (trino_server.NAME, trino_server.server, lambda settings: settings.manages_trino),
    *((name, partial(kafka_broker.server, name), partial(kafka_broker.managed, name)) for name in local_brokers.NAMES),
)
DEADLINE = 180.0
_ASKED = 16  # processes at once


@dataclass(frozen=True)
class ServerState:
    """The current state of a process: "up", "not answering", "died" (it should run) or "down"."""

    name: str
    status: str
    pid: int | None = None
    address: str = ""
    log: Path | None = None
    memory: int = 0


def start_servers(settings: Settings, *extra: str, deadline: float = DEADLINE) -> tuple[ServerState, ...]:
    """Starts the servers that do not run and returns when all answer. Running servers are left alone.

    Brokers that ask for passwords get those of the files then, and the rights of ``access.toml``.

    ``extra`` names optional servers to start; one that ran and died is started again without being named. Raises
    Refused when the keys of a secured instance are lost, or a server dies, does not answer in time, or its port is in
    use; the servers that did not start are stopped.
    """
    if airflow_server.NAME in extra:
        airflow_server.require_installed()
    with _exclusive(settings):
        kafka_broker.require_broker_count(settings)
        if secrets := local_secrets(settings.data):
            users.require_authority(secrets)
            users.make_secrets(settings)  # a newer version may have more users
        servers = [server(settings) for name, server, managed in SERVERS if name in extra or managed(settings)]
        began = time.monotonic()
        pending = [server for server in servers if not _is_up(settings, server)]
        try:
            for server in pending:
                server.prepare()
                ports = server.ports
                local_processes.start_process(
                    settings, server.name, server.argv, env=server.env, ports=ports, cwd=settings.log_dir
                )
            _wait_until_up(settings, pending, began, deadline)
        finally:
            for server in pending:
                local_processes.stop_process(settings, server.name, grace=5)
        if kafka_secrets := settings.kafka_secrets:
            users.apply_kafka_users(settings, kafka_secrets)
    return server_states(settings)


def stop_servers(settings: Settings) -> tuple[str, ...]:
    """Stops every process of the instance, servers last. Returns the names of the stopped processes."""
    with _exclusive(settings), console().status("Stopping"):
        with suppress(Refused):  # without its password there is no client to close
            admin_requests.close_client(settings)
        # Airflow first, as it starts other processes.
        airflow = [airflow_server.NAME] if local_processes.stop_process(settings, airflow_server.NAME) else []
        servers = [name for name, _, _ in SERVERS]
        others = [name for name in local_processes.recorded_names(settings) if name not in servers]
        return (*airflow, *(name for name in [*others, *servers] if local_processes.stop_process(settings, name)))


def server_states(settings: Settings) -> tuple[ServerState, ...]:
    """The current state of every server and every other process of the instance.

    Servers are probed in parallel: one that hangs delays no other.
    """
    servers = {name: server for name, server, managed in SERVERS if managed(settings)}
    others = [name for name in local_processes.recorded_names(settings) if name not in servers]
    names = [*servers, *others]
    with ThreadPoolExecutor(_ASKED) as pool:
        return tuple(pool.map(lambda name: _state(settings, name, servers.get(name)), names))


def dead_processes(settings: Settings) -> tuple[ServerState, ...]:
    """Every process of the instance that was started, not stopped, and does not run. It asks no server."""
    recorded = [local_processes.recorded(settings, name) for name in local_processes.recorded_names(settings)]
    return tuple(
        ServerState(
            process.name, "died", process.pid, process.address, local_processes.log_file(settings, process.name)
        )
        for process in recorded
        if process and not local_processes.running_process(settings, process.name)
    )


def log_lines(settings: Settings, name: str, lines: int = 40, follow: bool = False) -> Iterator[str]:
    """The last lines of a log; with ``follow`` also new lines, until the caller stops.

    Raises Usage listing the existing logs when there is no such log.
    """
    path = local_processes.log_file(settings, name)
    if not path.is_file() or path.parent != settings.log_dir:
        existing = ", ".join(sorted(log.stem for log in settings.log_dir.glob("*.log"))) or "none yet"
        raise Usage(f"there is no log {name!r}", where=str(settings.log_dir), fix=f"existing logs: {existing}")
    yield from local_processes.last_lines(path, lines)
    if follow:
        yield from _following(path)


def _is_up(settings: Settings, server: Server) -> bool:
    """Whether the server runs. Prints so, or that it died since its last start."""
    if running := local_processes.running_process(settings, server.name):
        console().print(f"{server.name} is already up at {running.address}", highlight=False)
        return True
    if dead := local_processes.recorded(settings, server.name):
        console().print(f"{server.name} died (process {dead.pid}); starting it again", highlight=False)
        local_processes.stop_process(settings, server.name)
    return False


def _wait_until_up(settings: Settings, pending: list[Server], began: float, deadline: float) -> None:
    """Removes each server from ``pending`` when it answers. Raises Refused for the first that exits or is late."""
    with console().status("") as status:

        def all_up() -> bool:
            status.update(f"Starting {' and '.join(server.name for server in pending)}")
            for server in list(pending):
                if not local_processes.running_process(settings, server.name):
                    raise _failed(settings, server, "exited during startup")
                if _answers(server):
                    pending.remove(server)
                    _print_up(server, began)
            return not pending

        late = f"did not answer within {deadline:.0f} s"
        wait_until(all_up, deadline, every=0.1, error=lambda: _failed(settings, pending[0], late))


def _failed(settings: Settings, server: Server, what: str) -> Refused:
    log = local_processes.log_file(settings, server.name)
    lines = local_processes.below_message(log, 15)
    return Refused(f"{server.name} {what}; its last lines:{lines}", where=str(log), fix="read this log file")


def _print_up(server: Server, began: float) -> None:
    place = f"at {server.page}" if server.page else f"on port {next(iter(server.ports.values()))}"
    console().print(f"{server.name} is up {place} ({time.monotonic() - began:.1f} s)", highlight=False)


def _answers(server: Server) -> bool:
    try:
        server.probe()
    except Exception:  # any failure means: not up yet
        return False
    return True


def _state(settings: Settings, name: str, server: Callable[[Settings], Server] | None) -> ServerState:
    log = local_processes.log_file(settings, name)
    process = local_processes.recorded(settings, name)
    if process is None:
        return ServerState(name, "down", log=log)
    if not local_processes.running_process(settings, name):
        return ServerState(name, "died", process.pid, process.address, log)
    status = "up" if server is None or _answers(server(settings)) else "not answering"
    return ServerState(name, status, process.pid, process.address, log, local_processes.memory_bytes(process.pid))


def _exclusive(settings: Settings) -> AbstractContextManager[None]:
    """Holds the instance's lock: one `up` or `down` at a time."""
    return file_lock.exclusive_lock(settings.run_dir / "stack.lock")


def _following(path: Path) -> Iterator[str]:
    """Yields new lines of a log. A restart of the server replaces the file, so it is opened again."""
    at_end = True
    while True:
        with path.open(encoding="utf-8", errors="replace") as file:
            file.seek(0, os.SEEK_END if at_end else os.SEEK_SET)
            while (line := file.readline()) or not _replaced(path, file.fileno()):
                if line:
                    yield line.rstrip("\n")
                else:
                    time.sleep(0.2)
        at_end = False


def _replaced(path: Path, descriptor: int) -> bool:
    return path.exists() and path.stat().st_ino != os.fstat(descriptor).st_ino
