"""What the live page reads: the disks also of a damaged lake, and nothing more often than it must."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from flows.live_page import state_reader
from flows.live_page.newest_changes import NewestChanges
from flows.live_page.state_reader import StateReader
from infra.control import locks, publications
from infra.control.publications import Change, PublicationState, add_publication
from infra.local.ports import free_ports
from infra.settings import Settings
from tests.support.records.control_rows import PUBLICATION


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


def test_a_part_pauses_half_a_minute_at_most_the_processes_ten_seconds_and_a_search_of_all_rows_its_share(
    tmp_path: Path,
) -> None:
    reader = StateReader(Settings(data=tmp_path))
    pauses = {part.name: part._longest_pause for part in reader.parts}
    assert (pauses.pop("processes"), pauses.pop("sizes")) == (10.0, 300.0)
    assert (pauses.pop("status"), pauses.pop("quarantine")) == (math.inf, math.inf)
    assert set(pauses.values()) == {30.0}


def test_a_snapshot_waits_for_the_slowest_part_but_not_for_all_files_to_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lk status` may watch a silent process for half a lease: less would leave "not read yet" as its reason."""
    waited = list[float]()
    monkeypatch.setattr(state_reader, "read_due", lambda *asked: waited.append(asked[2]))
    for lease_seconds in (30.0, 100.0):
        state_reader.read_snapshot(Settings(data=tmp_path, lease_seconds=lease_seconds))
    assert waited == [46.0, 116.0]


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
