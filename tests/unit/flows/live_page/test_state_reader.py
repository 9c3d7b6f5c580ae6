"""What the live page reads: every run that serves, the newest others, and the disks also of a damaged lake."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.cut import Cut
from core.errors import Refused
from core.identifiers import Name
from flows.live_page import state_reader
from flows.live_page.newest_changes import NewestChanges
from flows.live_page.state_reader import StateReader
from infra.control import locks, publications
from infra.control.publications import Change, PublicationState, add_publication
from infra.control.run_roles import Role
from infra.control.runs import Run
from infra.local.ports import free_ports
from infra.settings import Settings
from speed.process.lifecycle import RunState
from tests.support.records.control_rows import PUBLICATION

IDS = [Name(f"r{number:06d}") for number in range(1, 21)]


def shown(monkeypatch: pytest.MonkeyPatch, roles: list[Role]) -> list[int]:
    """The numbers of the runs that the page shows of runs with these roles, the oldest first."""
    runs = [Run(id, {}, {}, {}, Cut(), datetime.now(UTC)) for id in IDS[: len(roles)]]
    monkeypatch.setattr("flows.live_page.state_reader.run_roles.roles", lambda _: dict(zip(IDS, roles, strict=False)))
    monkeypatch.setattr("flows.live_page.state_reader.runs.read_runs", lambda _: runs)
    monkeypatch.setattr(
        "flows.live_page.state_reader.lifecycle.states",
        lambda _, declared: {run.id: RunState(run.id, False, "stopped", -1) for run in declared},
    )
    monkeypatch.setattr(state_reader, "last_epoch", lambda *_: None)
    return [int(live.run.id[1:]) for live in state_reader._runs(Settings())]


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

    monkeypatch.setattr("flows.live_page.state_reader.lifecycle.states", states)
    monkeypatch.setattr(state_reader, "last_epoch", last_of)
    assert [(live.run.id, live.state.phase) for live in state_reader._runs(Settings())] == [
        ("r000001", "cannot be read: a file of the lake is empty"),
        ("r000002", "running"),
    ]


def test_the_disks_are_read_while_the_leases_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_: Settings) -> None:
        raise OSError("access denied")

    monkeypatch.setattr(state_reader, "lease_states", denied)
    kafka, trino = free_ports(2)
    settings = Settings(data=tmp_path, kafka_port=kafka, trino_port=trino)
    snapshot = state_reader.read_snapshot(settings)
    assert "access denied" in snapshot.lake.problem
    free, size = (snapshot.disks.value or {})[str(tmp_path)]
    assert 0 < free <= size


def test_a_part_rests_half_a_minute_at_most_the_processes_ten_seconds_and_a_search_of_all_rows_its_share(
    tmp_path: Path,
) -> None:
    reader = StateReader(Settings(data=tmp_path))
    rests = {part.name: part._longest_rest for part in reader.parts}
    assert (rests.pop("processes"), rests.pop("sizes")) == (10.0, 300.0)
    assert (rests.pop("status"), rests.pop("quarantine")) == (math.inf, math.inf)
    assert set(rests.values()) == {30.0}


def test_the_publications_are_parsed_again_only_after_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, reads = Settings(data=tmp_path), list[int]()
    read = publications.recent_changes

    def counting(settings: Settings, count: int) -> list[Change]:
        reads.append(count)
        return read(settings, count)

    monkeypatch.setattr(publications, "recent_changes", counting)
    newest = NewestChanges(settings, 100)
    assert newest.read() == ()
    reads.clear()
    with locks.hold(settings, "control") as lease:
        states: tuple[PublicationState, ...] = ("intent", "done")
        for state in states:
            add_publication(settings, lease, replace(PUBLICATION, state=state))
            for _ in range(5):
                assert [(change.seq, change.state) for change in newest.read()] == [(PUBLICATION.seq, state)]
    assert reads == [100, 100]
