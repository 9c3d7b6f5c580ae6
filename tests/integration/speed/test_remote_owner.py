"""The lease of a run shows its process on another machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.cut import Cut
from core.identifiers import Name
from infra.control import runs
from infra.control.runs import Run
from infra.lake import leases, table_paths
from infra.lake.process_identity import ProcessIdentity
from infra.settings import Settings
from speed.process import background, lifecycle
from tests.conftest import fresh_settings


@pytest.fixture
def settings(stack: Settings, tmp_path: Path) -> Settings:
    """Settings with the shared broker and a separate lake."""
    own_settings = fresh_settings(tmp_path).model_copy(update={"bootstrap": stack.bootstrap_servers})
    table_paths.open_lake(own_settings)
    return own_settings


@pytest.fixture
def run(settings: Settings) -> Name:
    """A declared run. No earlier test used its id as a consumer group of the shared broker."""
    id = runs.new_run_id(settings)
    runs.declare_run(settings, Run(id, {}, {}, {}, Cut()))
    return id


def test_its_state_and_its_host_are_told_until_it_lets_go(
    settings: Settings, run: Name, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessIdentity, "current", staticmethod(lambda: ProcessIdentity("worker-7", 42, 0.0, "jobs")))
    with leases.hold(settings, f"run_{run}"):
        status = lifecycle.status(settings, run)
        assert (status.alive, status.phase, status.pid, status.host) == (True, "running", 42, "worker-7")
        assert "process 42 on worker-7" in status.line
    status = lifecycle.status(settings, run)
    assert (status.alive, status.phase, status.pid, status.host) == (False, "stopped", None, None)


def test_it_is_not_started_a_second_time(settings: Settings, run: Name, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessIdentity, "current", staticmethod(lambda: ProcessIdentity("worker-7", 42, 0.0, "jobs")))
    with leases.hold(settings, f"run_{run}"):
        assert background.start(settings, run, "speed", "run", run) is True
    assert background.alive(settings, run) is None
    assert not background.log_file(settings, run).exists()
