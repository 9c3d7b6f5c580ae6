"""Leases between real processes: one holder, a successor with a higher generation, a paused holder that fails."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from core.errors import TryAgain
from infra.control import locks
from infra.lake import delta, lease_table, leases, table_paths
from infra.settings import Settings
from tests.support.waiting import eventually

SCHEMA = pa.schema([("n", pa.int64())])
ONE = pa.table({"n": [1]}, schema=SCHEMA)

HOLDER = """
import sys
from pathlib import Path
import pyarrow as pa
from core.errors import TryAgain
from infra.lake import delta, leases
from infra.settings import Settings

data, name, table = sys.argv[1:]
settings = Settings(data=Path(data)).model_copy(update={"lease_seconds": 1.2})
rows = pa.table({"n": [7]})
said = []
with leases.hold(settings, name, fenced=[table]) as lease:
    print("held", lease.generation, flush=True)
    sys.stdin.readline()
    for act in (lease.check, lambda: leases.append(lease, table, rows)):
        try:
            act()
            said.append("went through")
        except TryAgain as e:
            said.append(e.what)
print("; ".join(said), flush=True)
"""

BEATING = """
import sys, threading
from pathlib import Path
from infra.lake import leases
from infra.settings import Settings

data, name = sys.argv[1:]
with leases.hold(Settings(data=Path(data)).model_copy(update={"lease_seconds": 0.03}), name):
    print("held", flush=True)
    sys.stdin.readline()
    alive = [thread.name for thread in threading.enumerate()]
    print("beating" if f"lease-{name}" in alive else alive, flush=True)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


@pytest.fixture
def table(settings: Settings) -> str:
    path = f"{settings.lake_root}/control/fenced"
    delta.create(path, SCHEMA)
    return path


@contextmanager
def holder(settings: Settings, name: str, table: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease. On a command it tries to check and to commit."""
    with child_of(HOLDER, str(settings.data), name, table) as child:
        yield child


@contextmanager
def beating(settings: Settings, name: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease and renews it continuously."""
    with child_of(BEATING, str(settings.data), name) as child:
        yield child


@contextmanager
def child_of(script: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a process with the script and waits until it holds its lease. Kills it at the end."""
    argv = [sys.executable, "-c", script, *args]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stdout.readline().startswith("held")
        yield child
        child.kill()


def answer(child: subprocess.Popen[str]) -> str:
    """The answer of the other process: what it could do."""
    assert child.stdin
    assert child.stdout
    child.stdin.write("\n")
    child.stdin.flush()
    return child.stdout.readline().strip()


def test_the_second_taker_is_told_who_holds_it(settings: Settings, table: str) -> None:
    with holder(settings, "batch", table) as child:
        with pytest.raises(TryAgain, match="the lease batch is held") as refused, leases.hold(settings, "batch"):
            pass
        assert f"process {child.pid} " in refused.value.where
        assert answer(child) == "went through; went through"
        child.wait()
        with leases.hold(settings, "batch") as lease:
            assert lease.generation == 2


def test_a_dead_holder_is_followed_at_once(settings: Settings, table: str) -> None:
    with holder(settings, "batch", table) as child:
        child.kill()
        child.wait()
        with leases.hold(settings, "batch") as lease:
            assert lease.generation == 2


def test_a_paused_holder_fails_at_its_check_and_at_its_next_commit(settings: Settings, table: str) -> None:
    with holder(settings, "batch", table) as child:
        os.kill(child.pid, signal.SIGSTOP)
        impatient = settings.model_copy(update={"lease_seconds": -1.0})
        with leases.hold(impatient, "batch", fenced=[table]) as successor:
            os.kill(child.pid, signal.SIGCONT)
            assert answer(child) == "lease lost: batch; lease lost: batch"
            leases.append(successor, table, ONE)
            successor.check()
    assert delta.read(table).to_pylist() == [{"n": 1}]


def test_a_heartbeat_keeps_a_live_holder_and_adds_no_file(settings: Settings, table: str) -> None:
    with leases.hold(settings, "run_r000001") as lease:
        for _ in range(150):
            lease.beat()
        assert leases.holder(settings, "run_r000001") == lease.holder
        assert leases.holder(settings, "batch") is None
    path = table_paths.control(settings, lease_table.TABLE)
    assert len(delta.table(path).file_uris()) == 1
    assert leases.holder(settings, "run_r000001") is None


def test_of_two_takers_at_once_one_wins(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with leases.hold(settings, "control"):
        pass
    real = leases.Lease

    def slow(*args: object) -> leases.Lease:
        monkeypatch.setattr(leases, "Lease", real)
        with leases.hold(settings, "control") as winner:
            assert winner.generation == 2
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(leases, "Lease", slow)
    with pytest.raises(TryAgain, match="lease lost"), leases.hold(settings, "control"):
        pass


def test_leases_do_not_disturb_each_other(settings: Settings) -> None:
    with leases.hold(settings, "batch") as batch_lease, locks.hold(settings, "control") as control_lease:
        batch_lease.beat()
        control_lease.beat()
        batch_lease.check()
        control_lease.check()
        assert (batch_lease.generation, control_lease.generation) == (1, 1)


@pytest.mark.slow
def test_heartbeats_go_on_while_old_entries_of_the_log_are_deleted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several processes delete concurrently, so an entry may be gone before a process deletes it."""
    monkeypatch.setattr(lease_table, "_RETENTION", "interval 1 seconds")
    with leases.hold(settings, "batch"):
        pass
    names = [f"run_r00000{n}" for n in range(1, 5)]
    with ExitStack() as processes:
        children = [processes.enter_context(beating(settings, name)) for name in names]

        def cleaned() -> None:
            path = table_paths.control(settings, lease_table.TABLE)
            assert delta.version(path) >= 1_000
            assert not Path(path, "_delta_log", f"{100:020d}.json").exists()

        eventually(settings, 120, cleaned)
        assert [answer(child) for child in children] == ["beating"] * 4
