"""Which runs the page shows: every one that serves, the newest others, and those with a damaged manifest."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from flows.live_page import live_runs
from infra.control.run_roles import Role
from infra.control.runs import Run
from infra.local import local_processes
from infra.settings import Settings
from speed.process import background, lifecycle
from speed.process.lifecycle import RunState

IDS = [Name(f"r{number:06d}") for number in range(1, 21)]


def shown(monkeypatch: pytest.MonkeyPatch, roles: list[Role]) -> list[int]:
    """The numbers of the runs that the page shows of runs with these roles, the oldest first."""
    runs = [Run(id, {}, {}, {}, Cut(), datetime.now(UTC)) for id in IDS[: len(roles)]]
    monkeypatch.setattr("flows.live_page.live_runs.run_roles.roles", lambda _: dict(zip(IDS, roles, strict=False)))
    monkeypatch.setattr("flows.live_page.live_runs.runs.read_runs", lambda _: runs)
    monkeypatch.setattr(
        "flows.live_page.live_runs.lifecycle.states",
        lambda _, declared: {run.id: RunState(run.id, False, "stopped", -1) for run in declared},
    )
    monkeypatch.setattr(live_runs, "last_epoch", lambda *_: None)
    return [int(live.run.id[1:]) for live in live_runs.live_runs(Settings())]


def test_every_run_that_serves_is_shown_however_many_newer_runs_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    replays: list[Role] = ["replay"] * 18
    assert shown(monkeypatch, ["serving"] * 14) == list(range(1, 15))
    assert shown(monkeypatch, ["serving", "idle", *replays]) == [1, *range(9, 21)]
    assert shown(monkeypatch, ["serving", "retired", "idle", "abandoned", "warm"]) == [1, 3, 5]


def test_a_replay_is_shown_however_many_runs_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    serving: list[Role] = ["serving"] * 18
    assert shown(monkeypatch, [*serving, "idle", "replay"]) == list(range(1, 21))


def test_a_run_with_a_damaged_manifest_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, ["idle", "serving"]) == [1, 2]

    def states(_: Settings, declared: list[Run]) -> dict[Name, RunState]:
        if IDS[0] in [run.id for run in declared]:
            raise Refused("a file of the lake is empty")
        return {run.id: RunState(run.id, True, "running", 4) for run in declared}

    def last_of(_: Settings, run: Name) -> None:
        if run == IDS[0]:
            raise Refused("a file of the lake is empty")

    monkeypatch.setattr("flows.live_page.live_runs.lifecycle.states", states)
    monkeypatch.setattr(live_runs, "last_epoch", last_of)
    assert [(live.run.id, live.state.phase) for live in live_runs.live_runs(Settings())] == [
        ("r000001", "cannot be read: a file of the lake is empty"),
        ("r000002", "running"),
    ]


def test_a_process_that_drives_a_run_with_a_damaged_manifest_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> NoReturn:
        raise Refused("a file of the lake is empty")

    run = Run(IDS[0], {}, {}, {}, Cut(), datetime.now(UTC))
    settings = Settings(data=tmp_path)
    monkeypatch.setattr("flows.live_page.live_runs.run_roles.roles", lambda _: {run.id: "serving"})
    monkeypatch.setattr("flows.live_page.live_runs.runs.read_runs", lambda _: [run])
    for broken in (lifecycle, live_runs):
        with monkeypatch.context() as patch:
            state = RunState(run.id, True, "running", 4, pid=7)
            patch.setattr(lifecycle, "states", damaged if broken is lifecycle else lambda *_, of=state: {run.id: of})
            patch.setattr(live_runs, "last_epoch", damaged if broken is live_runs else lambda *_: None)
            (dead,) = live_runs.live_runs(settings)
            assert (dead.is_read, dead.state.alive, dead.state.epoch) == (False, False, -1)
            process = local_processes.start_process(settings, background.name(run.id), ["sleep", "60"])
            try:
                (driven,) = live_runs.live_runs(settings)
            finally:
                local_processes.stop_process(settings, background.name(run.id))
            assert (driven.is_read, driven.state.alive, driven.state.pid) == (False, True, process.pid)
            assert driven.state.phase == "cannot be read: a file of the lake is empty"


def test_damaged_leases_hide_no_run_with_a_damaged_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> NoReturn:
        raise Refused("a file of the lake is empty")

    run = Run(IDS[0], {}, {}, {}, Cut(), datetime.now(UTC))
    monkeypatch.setattr("flows.live_page.live_runs.run_roles.roles", lambda _: {run.id: "serving"})
    monkeypatch.setattr("flows.live_page.live_runs.runs.read_runs", lambda _: [run])
    monkeypatch.setattr(lifecycle, "states", damaged)
    monkeypatch.setattr(background, "remote_owner", damaged)
    (live,) = live_runs.live_runs(Settings(data=tmp_path))
    assert (live.is_read, live.state.alive) == (False, False)
    assert live.state.phase == "cannot be read: a file of the lake is empty"
