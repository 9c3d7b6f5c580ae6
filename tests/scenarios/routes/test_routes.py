"""A read_committed consumer sees each copy of a route exactly once: live, after crashes and in replays."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import psutil
import pytest

from infra.control import route_runs
from infra.kafka import kafka_admin
from infra.local import local_processes
from speed.process import background
from tests.support.instances.route_split import OUTPUTS, ROUTE, Split
from tests.support.records import committed_records
from tests.support.records.topics import truncate
from tests.support.waiting import eventually


def restart(split_log: Split, fault: str | None = None) -> None:
    """Stops the route and starts it again. With a fault it may die before `lk` sees it running."""
    split_log.lk("route", "stop", ROUTE, "--json").ok()
    started = split_log.lk("route", "start", ROUTE, "--json", fault=fault)
    assert fault or started.ok()


def test_a_route_copies_every_record_once(split_log: Split) -> None:
    split_log.check()
    split_log.send(100)
    split_log.settle()
    split_log.check()
    (state,) = split_log.lk("route", "status", "--json").ok().json
    record_count = len(split_log.log.records)
    assert (state["role"], state["behind"], state["exact"], sum(state["copied"].values())) == (
        "owner",
        0,
        True,
        record_count,
    )


def test_a_route_killed_at_every_step_copies_every_record_once(split_log: Split) -> None:
    """Each start has the next fault point. Two points are in an executor, two in the driver."""
    split_log.lk("route", "stop", ROUTE, "--json").ok()
    for fault in ("route.0_before_epoch:2", "route.1_before_commit", "route.1_after_commit", "route.2_after_epoch"):
        split_log.send(40)
        split_log.lk("route", "start", ROUTE, "--json", fault=f"{fault}:kill")
        split_log.send(20)
        split_log.died(split_log.owner, fault.partition(":")[0])
        split_log.check_so_far()
    split_log.lk("route", "start", ROUTE, "--json").ok()
    split_log.settle()
    split_log.check()


def test_killed_whole_with_an_open_transaction_a_route_copies_every_record_once(split_log: Split) -> None:
    split_log.lk("route", "stop", ROUTE, "--json").ok()
    split_log.send(60)
    split_log.lk("route", "start", ROUTE, "--json", fault="route.1_before_commit:pause")
    split_log.paused("route.1_before_commit")
    kill_all(split_log)
    split_log.lk("route", "start", ROUTE, "--json").ok()
    split_log.settle()
    split_log.check()


def kill_all(split_log: Split) -> None:
    """Kills the process of the owning run and all its children."""
    owner = background.alive(split_log.settings, split_log.owner)
    assert owner
    for process in [*psutil.Process(owner.pid).children(recursive=True), psutil.Process(owner.pid)]:
        process.kill()


def test_a_replay_copies_the_log_into_its_own_topics(split_log: Split) -> None:
    restart(split_log)
    split_log.settle()
    end_before = kafka_admin.end_offsets(split_log.settings, OUTPUTS)
    run = split_log.lk("route", "replay", ROUTE, "--json").ok().json["run"]
    split_log.settle(run)
    split_log.check_copies(committed_records.copies(split_log.settings, OUTPUTS, f"__{run}"))
    assert kafka_admin.end_offsets(split_log.settings, OUTPUTS) == end_before
    assert split_log.lk("route", "replay", ROUTE, "--json").ok().json["run"] == run == split_log.replay


def test_a_handover_killed_at_every_step_is_finished_by_the_same_command(split_log: Split) -> None:
    """Hands over to the replay of the last test. The old run copies up to a recorded cut, the new run from there."""
    old_run, run = split_log.owner, split_log.replay
    split_log.lk("route", "stop", ROUTE, "--json").ok()
    switch = ("route", "switch", ROUTE, "--run", run, "--json")
    steps = (
        "handover.0_before_handover",
        "handover.1_in_handover:3",
        "handover.2_before_owner",
        "handover.2_after_owner",
    )
    for fault in steps:
        killed = split_log.lk(*switch, fault=f"{fault}:kill")
        assert killed.code == -signal.SIGKILL, killed.said
        split_log.take_proof(fault.partition(":")[0])
        split_log.send(20)
    switched = split_log.lk(*switch).ok().json
    assert (switched["run"], switched["role"], split_log.owner) == (run, "owner", run)
    assert [ownership.run for ownership in route_runs.read_history(split_log.settings, ROUTE).ownerships] == [
        old_run,
        run,
    ]
    split_log.settle()
    split_log.check()
    refused = split_log.lk("route", "retire", run, "--json")
    assert (refused.code, "owns the topics" in refused.json["error"]) == (1, True)
    assert split_log.lk("route", "retire", old_run, "--json").ok().json["role"] == "ended"


def test_a_changed_route_is_refused_and_takes_effect_at_a_recorded_cut(split_log: Split) -> None:
    """Existing copies stay. The new rule applies from the cut."""
    split_log.lk("route", "stop", ROUTE, "--json").ok()
    split_log.define(400)
    refused = split_log.lk("route", "start", ROUTE, "--json")
    assert refused.code == 1, refused.said
    assert "changed since run" in refused.json["error"]
    assert f"lk route switch {ROUTE}" in refused.json["fix"]
    switched = split_log.lk("route", "switch", ROUTE, "--json").ok().json
    cut = route_runs.read_history(split_log.settings, ROUTE).ownerships[-1].since
    split_log.rules.append(({(t, p): end for t, p, end in cut.ends}, 400))
    assert split_log.lk("route", "switch", ROUTE, "--json").ok().json["run"] == switched["run"]
    split_log.send(60)
    split_log.settle()
    split_log.check()


def test_a_paused_process_that_wakes_after_a_handover_copies_nothing(split_log: Split) -> None:
    """It paused before its commit. Its transaction is fenced and its ownership has ended."""
    split_log.lk("route", "stop", ROUTE, "--json").ok()
    split_log.send(60)
    old_run = split_log.owner
    split_log.lk("route", "start", ROUTE, "--json", fault="route.1_before_commit:pause")
    worker, driver = split_log.paused("route.1_before_commit"), background.alive(split_log.settings, old_run)
    assert driver
    # As if it ran on another machine: `lk` cannot stop it.
    local_processes.state_file(split_log.settings, background.name(old_run)).unlink()
    split_log.define(500)
    switched = split_log.lk("route", "switch", ROUTE, "--json").ok().json
    assert switched["run"] != old_run
    cut = route_runs.read_history(split_log.settings, ROUTE).ownerships[-1].since
    split_log.rules.append(({(t, p): end for t, p, end in cut.ends}, 500))
    split_log.settle()
    split_log.check()
    group = os.getpgid(worker)

    def driver_is_gone() -> None:
        """Wakes the group repeatedly: a second task may pause at the same point when it wakes."""
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGCONT)
        assert not psutil.pid_exists(driver.pid) or psutil.Process(driver.pid).status() == psutil.STATUS_ZOMBIE

    eventually(split_log.settings, 60, driver_is_gone)
    assert "another process has taken over" in split_log.lk("logs", background.name(old_run)).ok().out
    split_log.send(60)
    split_log.settle()
    split_log.check()


def test_the_check_finds_planted_wrong_copies(split_log: Split) -> None:
    """The checker itself sees a repeated copy, a missing copy and a wrong copy."""
    copies = committed_records.copies(split_log.settings, OUTPUTS)
    place, rows = next(iter(copies["log_high"].items()))
    for wrong_rows in ([*rows, rows[-1]], rows[:-1], [*rows[:-1], (rows[-1][0], rows[0][1])]):
        with pytest.raises(AssertionError, match="log_high"):
            split_log.check_copies(copies | {"log_high": copies["log_high"] | {place: wrong_rows}})


def test_a_truncated_log_is_refused_by_name_and_range(split_log: Split) -> None:
    """The last test of this file: the log has a gap from here on."""
    split_log.lk("route", "stop", ROUTE, "--json").ok()
    begin = split_log.log.ends["service_log", 1]
    split_log.send(60)
    end, outputs_before = split_log.log.ends["service_log", 1], kafka_admin.end_offsets(split_log.settings, OUTPUTS)
    assert end > begin
    truncate(split_log.settings, "service_log", 1, end)
    refused = split_log.lk("route", "start", ROUTE, "--json")
    assert refused.code == 1, refused.said
    assert f"no longer in the log: service_log, partition 1, offsets {begin} to {end - 1}" in refused.json["error"]
    assert kafka_admin.end_offsets(split_log.settings, OUTPUTS) == outputs_before
    (state,) = [run for run in split_log.lk("route", "status", "--json").ok().json if run["role"] == "owner"]
    assert state["phase"] == "failed"
