"""Other instances of this machine are found by their running processes, and by nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.servers import _other
from infra.lake.process_identity import process_start
from infra.local import local_processes
from infra.local.other_instances import OtherInstance, other_instances
from infra.retry import wait_until
from infra.settings import Settings

FOREVER = [sys.executable, "-c", "import signal; signal.pause()"]
# The command line of a run's process: `cli` is a module of the working directory.
RUN = [sys.executable, "-m", "cli", "speed", "run", "r000001"]


@pytest.fixture
def mine(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "mine")


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Settings]:
    settings = Settings(data=tmp_path / "theirs")
    settings.log_dir.mkdir(parents=True)
    yield settings
    for name in local_processes.recorded_names(settings):
        local_processes.stop_process(settings, name, grace=0.1)


def start_server(settings: Settings, name: str, ports: dict[str, int]) -> None:
    local_processes.start_process(settings, name, FOREVER, cwd=settings.log_dir)
    state = json.loads(local_processes.state_file(settings, name).read_text("utf-8"))
    local_processes.state_file(settings, name).write_text(json.dumps(state | {"ports": ports}), "utf-8")


def named(mine: Settings, theirs: Settings) -> list[OtherInstance]:
    """Without the instances that other programs run on this machine."""
    return [instance for instance in other_instances(mine) if instance.data == theirs.data]


def test_another_instance_is_named_with_its_ports_while_it_runs(mine: Settings, theirs: Settings) -> None:
    before = datetime.now(UTC)
    assert named(mine, theirs) == []
    start_server(theirs, "kafka", {"kafka_port": 71, "kafka_controller_port": 72})
    start_server(theirs, "trino", {"trino_port": 73})
    (instance,) = named(mine, theirs)
    assert instance.ports == {"kafka_port": 71, "kafka_controller_port": 72, "trino_port": 73}
    assert abs((instance.since - before).total_seconds()) < 60
    local_processes.stop_process(theirs, "kafka")
    assert [other.ports for other in named(mine, theirs)] == [{"trino_port": 73}]
    local_processes.stop_process(theirs, "trino")
    assert named(mine, theirs) == []


def test_the_instance_itself_is_not_another_one(theirs: Settings) -> None:
    start_server(theirs, "kafka", {"kafka_port": 71})
    assert named(theirs, theirs) == []


def test_an_instance_of_which_only_a_run_is_left_is_named(mine: Settings, theirs: Settings, tmp_path: Path) -> None:
    (tmp_path / "cli.py").write_text("import signal; signal.pause()", "utf-8")
    local_processes.start_process(theirs, "speed-r000001", RUN, env={"LK_DATA": str(theirs.data)}, cwd=tmp_path)
    # Linux shows the command line of a new process a moment after it has told its parent that it started.
    running = wait_until(lambda: named(mine, theirs), 10.0, every=0.05, error=lambda: AssertionError("it is not named"))
    assert [instance.ports for instance in running] == [{}]


@pytest.mark.parametrize(
    "recorded_start",
    [None, lambda pid: process_start(pid) + 1],
    ids=["without a state file", "with the state file of an earlier process"],
)
def test_a_process_that_no_state_file_records_is_no_instance(
    mine: Settings, theirs: Settings, recorded_start: Callable[[int], float] | None
) -> None:
    with ExitStack() as stack:
        child = stack.enter_context(subprocess.Popen(FOREVER, cwd=theirs.log_dir))
        stack.callback(child.kill)
        if recorded_start:
            state = {
                "name": "kafka",
                "pid": child.pid,
                "created": recorded_start(child.pid),
                "ports": {"kafka_port": 71},
            }
            theirs.run_dir.mkdir()
            local_processes.state_file(theirs, "kafka").write_text(json.dumps(state), "utf-8")
        assert named(mine, theirs) == []


def test_status_says_in_one_line_what_another_instance_is() -> None:
    since = datetime(2026, 11, 26, 5, 7, 59, tzinfo=UTC)
    text = _other(OtherInstance(Path("/a/.demo/data"), {"kafka_port": 19094, "trino_port": 18082}, since))
    assert text == (
        "another instance runs: /a/.demo/data · kafka_port 19094, trino_port 18082 · since 2026-11-26 05:07:59 UTC"
    )
    assert "no ports" in _other(OtherInstance(Path("/a"), {}, since))
