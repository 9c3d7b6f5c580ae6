"""Background processes are recognised later, never confused with others, and stopped with all their children."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.errors import Refused
from infra.lake.process_identity import ProcessIdentity
from infra.local import local_processes, log_files
from infra.retry import retry_on, wait_until
from infra.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    settings = Settings(data=tmp_path / "data")
    yield settings
    for name in local_processes.recorded_names(settings):
        local_processes.stop_process(settings, name, grace=0.1)


def python(text: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(text)]


FOREVER = python("import signal; print('ready', flush=True); signal.pause()")
STUBBORN = python("""
    import signal, subprocess, sys
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.signal(15, 1); signal.pause()'])
    print(child.pid, flush=True)
    signal.pause()
""")
QUICK_PARENT = python("""
    import subprocess, sys
    print(subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()']).pid, flush=True)
""")
_HELD = 100 * 2**20


def first_line(settings: Settings, name: str) -> str:
    log = local_processes.log_file(settings, name)
    return wait_until(lambda: local_processes.last_lines(log, 5), 10, every=0.02, error=AssertionError)[0]


def assert_dead(settings: Settings, name: str) -> None:
    def dead() -> None:
        assert local_processes.running_process(settings, name) is None

    retry_on(AssertionError, dead, 10, every=0.02)


def test_a_process_is_started_found_and_stopped(settings: Settings) -> None:
    started = local_processes.start_process(settings, "x", FOREVER, env={"LK_X": "1"})
    assert first_line(settings, "x") == "ready"
    assert local_processes.running_process(settings, "x") == started
    assert local_processes.recorded_names(settings) == ["x"]
    assert os.getsid(started.pid) == started.pid
    assert local_processes.stop_process(settings, "x") is True
    assert not psutil.pid_exists(started.pid)
    assert local_processes.recorded_names(settings) == []
    assert local_processes.stop_process(settings, "x") is False


def test_a_second_start_is_refused(settings: Settings) -> None:
    started = local_processes.start_process(settings, "x", FOREVER)
    with pytest.raises(Refused, match="x is already running"):
        local_processes.start_process(settings, "x", FOREVER)
    assert local_processes.running_process(settings, "x") == started


def test_stop_kills_a_process_that_ignores_sigterm_and_its_children(settings: Settings) -> None:
    started = local_processes.start_process(settings, "x", STUBBORN)
    child = int(first_line(settings, "x"))
    assert local_processes.stop_process(settings, "x", grace=0.2) is True
    assert not psutil.pid_exists(started.pid)
    assert not psutil.pid_exists(child)


def test_children_that_outlive_their_parent_are_stopped(settings: Settings) -> None:
    local_processes.start_process(settings, "x", QUICK_PARENT)
    child = int(first_line(settings, "x"))
    assert_dead(settings, "x")
    assert psutil.pid_exists(child)
    assert local_processes.stop_process(settings, "x") is True
    assert not psutil.pid_exists(child)


def test_a_killed_process_is_recorded_but_not_alive_and_can_start_again(settings: Settings) -> None:
    started = local_processes.start_process(settings, "x", FOREVER)
    os.kill(started.pid, signal.SIGKILL)
    assert_dead(settings, "x")
    assert local_processes.recorded(settings, "x") == started
    assert local_processes.start_process(settings, "x", FOREVER).pid != started.pid


def test_a_reused_pid_is_neither_alive_nor_killed(settings: Settings) -> None:
    other = local_processes.start_process(settings, "other", FOREVER)
    state = {"name": "x", "pid": other.pid, "created": other.created - 3600, "ports": {}}
    local_processes.state_file(settings, "x").write_text(json.dumps(state), "utf-8")
    assert local_processes.running_process(settings, "x") is None
    assert local_processes.stop_process(settings, "x") is False
    assert local_processes.running_process(settings, "other") == other


def test_a_step_of_the_clock_hides_no_process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start time that the OS reports is the boot time plus ticks, and the boot time follows the clock."""
    started, me = local_processes.start_process(settings, "x", FOREVER), ProcessIdentity.current()
    create_time = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: create_time(process) + 86_400)
    assert local_processes.running_process(settings, "x") == started
    assert (me.is_dead, ProcessIdentity.current()) == (False, me)
    assert local_processes.stop_process(settings, "x") is True
    assert not psutil.pid_exists(started.pid)


def test_the_start_time_of_an_older_program_still_counts(settings: Settings) -> None:
    started = local_processes.start_process(settings, "x", FOREVER)
    time = psutil.Process(started.pid).create_time()
    for created, runs in ((time, True), (time - 3_600, False)):
        state = {"name": "x", "pid": started.pid, "created": created, "ports": {}}
        local_processes.state_file(settings, "x").write_text(json.dumps(state), "utf-8")
        assert (local_processes.running_process(settings, "x") is not None) is runs


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "a", "created": 1, "ports": {}}'])
def test_an_unreadable_state_file_is_ignored(settings: Settings, text: str) -> None:
    settings.run_dir.mkdir(parents=True)
    local_processes.state_file(settings, "x").write_text(text, "utf-8")
    assert local_processes.recorded(settings, "x") is None
    assert local_processes.recorded_names(settings) == []


def test_a_port_in_use_is_refused_with_port_owner_and_setting(settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Refused) as caught:
            local_processes.start_process(settings, "x", FOREVER, ports={"kafka_port": port})
    assert str(port) in caught.value.what
    assert f"process {os.getpid()}" in caught.value.where
    assert "kafka_port (LK_KAFKA_PORT)" in caught.value.fix
    assert local_processes.recorded(settings, "x") is None


def test_the_log_of_the_previous_start_is_kept(settings: Settings) -> None:
    for text in ("one", "two"):
        local_processes.start_process(settings, "x", python(f"print('{text}')"))
        assert first_line(settings, "x") == text
        assert_dead(settings, "x")
    log = local_processes.log_file(settings, "x")
    assert log.with_suffix(".1.log").read_text("utf-8") == "one\n"


def test_a_large_log_is_emptied_while_its_process_writes(settings: Settings) -> None:
    settings = settings.model_copy(update={"log_mebibytes": 1})
    writes = "import sys\nfor line in sys.stdin: print(line * 50_000, end='', flush=True)"
    settings.log_dir.mkdir(parents=True)
    log = local_processes.log_file(settings, "x")
    with log.open("ab") as out, subprocess.Popen(python(writes), stdin=subprocess.PIPE, stdout=out, text=True) as child:
        lines = child.stdin
        assert lines

        def write(line: str, size: int) -> None:
            lines.write(f"{line}\n")
            lines.flush()
            wait_until(lambda: log.stat().st_size == size, 20, every=0.01, error=TimeoutError)

        write("before", 350_000)
        assert log_files.shorten_logs(settings) == ()
        write("many before" * 2, 350_000 + 50_000 * 23)
        assert log_files.shorten_logs(settings) == (log,)
        assert (log.stat().st_size, log.with_suffix(".1.log").stat().st_size) == (0, 2**20)
        write("after", 300_000)
        assert log.read_text("utf-8") == "after\n" * 50_000
        assert log_files.shorten_logs(settings) == ()


def test_a_process_in_the_trees_of_two_others_counts_once(settings: Settings) -> None:
    """A verb starts a background process: it is recorded, and it is a child of the verb while that runs."""
    script = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', sys.argv[1]])"
    holder = f"import signal; text = b'x' * {_HELD}; print('ready', flush=True); signal.pause()"
    parent = local_processes.start_process(settings, "parent", [sys.executable, "-c", script, holder])
    first_line(settings, "parent")
    (child,) = psutil.Process(parent.pid).children()
    assert _HELD <= local_processes.memory_bytes(parent.pid, child.pid) < 2 * _HELD
