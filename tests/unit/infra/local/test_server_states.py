"""Servers are asked side by side: one that hangs delays no other; and who died is known without asking any."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from infra.lake.process_identity import process_start
from infra.local import local_processes, local_stack
from infra.local.local_processes import Process
from infra.local.server_spec import Server
from infra.settings import Settings


def test_servers_are_asked_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of three waits until all were asked; a fourth answers with an error."""
    settings, together = Settings(data=tmp_path), threading.Barrier(3)
    settings.run_dir.mkdir(parents=True)

    def wait() -> None:
        together.wait(20)

    def fail() -> None:
        raise OSError("no answer")

    probes = {"b": wait, "a": wait, "d": fail, "c": wait}
    for name in probes:
        process = Process(name, os.getpid(), process_start(os.getpid()), {})
        local_processes._write(local_processes.state_file(settings, name), process)

    def server(name: str) -> Server:
        return Server(name=name, argv=(), ports={}, prepare=lambda: None, probe=probes[name])

    servers = tuple((name, lambda _, name=name: server(name), lambda _: True) for name in probes)
    monkeypatch.setattr(local_stack, "SERVERS", servers)
    states = [(state.name, state.status) for state in local_stack.server_states(settings)]
    assert states == [("b", "up"), ("a", "up"), ("d", "not answering"), ("c", "up")]


def test_who_died_is_known_without_asking_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, own = Settings(data=tmp_path), os.getpid()
    settings.run_dir.mkdir(parents=True)
    for name, start in (("trino", process_start(own)), ("speed-r000001", process_start(own) - 1.0)):
        local_processes._write(local_processes.state_file(settings, name), Process(name, own, start, {}))
    monkeypatch.setattr(local_stack, "SERVERS", ())
    (dead,) = local_stack.dead_processes(settings)
    assert (dead.name, dead.status, dead.pid) == ("speed-r000001", "died", own)
